// One pass over the file. The blocks of an MCU row that any picture needs are transformed into strips (16
// rows of a plane side by side); each picture resamples the strip across into a ring of rows, and mixes rows
// of the ring down into rows of pixels as soon as they are complete. A plane is never there as a whole.
#include "headrace/codecs/jpeg/planes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "headrace/codecs/jpeg/picture.h"
#include "headrace/codecs/jpeg/strips.h"
#include "headrace/codecs/jpeg/transform.h"
#include "headrace/core/stop_flag.h"
#include "headrace/kernels/idct_reduced.h"

namespace headrace::jpeg {
namespace {

using kernels::kStripRows;

class PlaneDecoder {
 public:
  // `side` samples of a block: 8, or 4, 2 and 1 for a smaller image.
  PlaneDecoder(const Scan& scan, const Tables& tables, int side, Form form)
      : scan_(scan), tables_(tables), side_(side), form_(form), run_(scan, tables) {
    for (int c = 0; c < planes_of(form); ++c) {
      const Component& component = scan.component[static_cast<size_t>(c)];
      quant_[c].set(scan.quant[static_cast<size_t>(component.quant)]);
      if (c < strips_of(form)) strips_[c].set(component.h, component.v, side, is_chroma_strip(c) ? 2 : 1);
    }
  }

  bool make(std::span<const Resampled> pictures, std::span<RowSink* const> sinks, Memory& memory) {
    pictures_.resize(pictures.size());
    int32_t window = 0;
    for (size_t i = 0; i < pictures.size(); ++i) {
      if (!pictures_[i].make(scan_, side_, form_, pictures[i], *sinks[i], memory)) return false;
      const Path &fine = pictures_[i].fine(), &coarse = pictures_[i].coarse();
      touch(fine, 0);
      if (form_ == Form::coarse) touch(coarse, 1);
      window = std::max({window, fine.across.window, coarse.across.window});
    }
    for (int p = 0; p < strips_of(form_); ++p)
      if (!strips_[p].take(columns_, beside_.has_value(), window, memory)) return false;
    return true;
  }

  // From the last known row on everything is read; of known rows only what is needed.
  void use(const EntropyPoints& known, EntropyPoints* found) {
    known_ = &known, found_ = found;
    const int64_t step = found ? found->step : known.step;
    step_ = step > 0 ? std::min(step, scan_.mcus_across()) : scan_.mcus_across();
    per_row_ = (scan_.mcus_across() + step_ - 1) / step_;
    known_rows_ = std::min(static_cast<int64_t>(known.points.size()) / per_row_, scan_.mcus_down());
    if (known_rows_ > 1) beside_.emplace(scan_, tables_);
  }

  // Finds points only.
  bool pass_over_all(const Scratch& scratch) {
    rows_ = {scan_.mcus_down(), scan_.mcus_down()};
    for (int64_t row = 0; row < scan_.mcus_down(); ++row)
      if (scratch.is_stopped() || !decode_row(row)) return false;
    return true;
  }

  bool run(Scratch& scratch) {
    for (int64_t row = std::min(rows_.begin, std::max<int64_t>(known_rows_ - 1, 0)); row < rows_.end;) {
      const int64_t end = row + (are_independent(row) ? 2 : 1);
      if (scratch.is_stopped() || !(end - row == 2 ? decode_two_rows(row) : decode_row(row))) return false;
      for (; row < end; ++row)
        if (row >= rows_.begin) feed(row);
    }
    if (found_) join_points();
    return true;
  }

 private:
  // Decoding of a row of MCUs, piece by piece.
  struct Run {
    Run(const Scan& scan, const Tables& tables) : reader(scan, tables) {}
    bool is_over() const { return piece.is_empty(); }

    EntropyReader reader;
    Coefficients coefficients;
    int64_t row = 0, end = 0;  // up to which column
    Range piece;               // what the reader is decoding
    bool is_wanted = false;    // that piece is transformed; others are skipped
    int16_t* lines[3][4];      // where the blocks of a component go, by their row in an MCU
  };

  // Widens the ranges of MCUs so that they contain what a picture reads of this component.
  void touch(const Path& path, int c) {
    const auto touch = [](Range& mcus, Range samples, int64_t size) {
      mcus = mcus.around({samples.begin / size, (samples.end + size - 1) / size});
    };
    const Component& component = scan_.component[static_cast<size_t>(c)];
    touch(columns_, path.columns, side_ * component.h), touch(rows_, path.rows, side_ * component.v);
  }

  bool decode_row(int64_t row) { return begin(run_, row) && finish(run_); }

  // Two independent rows side by side, which takes less time than one after the other (blocks.h).
  bool decode_two_rows(int64_t row) {
    if (!begin(run_, row) || !begin(*beside_, row + 1)) return false;
    while (!run_.is_over() && !beside_->is_over())
      if (!EntropyReader::go_on(run_.reader, beside_->reader) || !arrive(run_) || !arrive(*beside_))
        return false;
    return finish(run_) && finish(*beside_);
  }
  // Whether this row and the next may be decoded in any order.
  bool are_independent(int64_t row) const {
    return row >= rows_.begin && row + 1 < std::min(rows_.end, known_rows_) && !is_read_on(row + 1) &&
           std::all_of(strips_, strips_ + strips_of(form_),
                       [&](const Strips& strips) { return strips.have_room(row); });
  }
  // What is right of the pictures is read only to reach the next row.
  bool is_read_on(int64_t row) const { return row + 1 < rows_.end && row + 1 >= known_rows_; }

  bool begin(Run& run, int64_t row) {
    const bool is_wanted = row >= rows_.begin;
    run.row = row;
    run.end = is_wanted && !is_read_on(row) ? columns_.end : scan_.mcus_across();
    for (int c = 0; is_wanted && c < planes_of(form_); ++c)
      for (int v = 0; v < scan_.component[static_cast<size_t>(c)].v; ++v)
        run.lines[c][v] = strips_of_component(c).line(row, v, is_chroma_strip(c) ? c - 1 : 0);
    int64_t column = 0;
    if (row < known_rows_) {
      if (is_wanted) column = columns_.begin / step_ * step_;
      const EntropyPoint& point = known_->points[static_cast<size_t>(row * per_row_ + column / step_)];
      const Checkpoint at{point.offset, point.bit, point.dc};
      if (!run.reader.start_at(at, row * scan_.mcus_across() + column, expected_end(run))) return false;
    }
    return set_out(run, column);
  }

  // About where a row ends that begins at a known point: between the points around its last column.
  size_t expected_end(const Run& run) const {
    const int64_t before = (run.end - 1) / step_;
    const auto first = static_cast<size_t>(run.row * per_row_ + before);
    if (first + 1 >= known_->points.size()) return EntropyReader::kNoEnd;
    const size_t begin = known_->points[first].offset, end = known_->points[first + 1].offset;
    if (end <= begin) return end;
    const int64_t mcus = std::min((before + 1) * step_, scan_.mcus_across()) - before * step_;
    return begin + (end - begin) * static_cast<size_t>(run.end - before * step_) / static_cast<size_t>(mcus);
  }

  bool finish(Run& run) {
    while (!run.is_over())
      if (!run.reader.go_on() || !arrive(run)) return false;
    return true;
  }

  // Starts on what begins at `column`.
  bool set_out(Run& run, int64_t column) {
    run.piece = {column, run.end};
    if (run.is_over()) return run.reader.is_in_order();
    run.is_wanted = run.row >= rows_.begin && column >= columns_.begin && column < columns_.end;
    if (run.is_wanted)
      run.piece.end = std::min(columns_.end, column + Coefficients::kMostMcus);
    else if (run.row >= rows_.begin && column < columns_.begin)
      run.piece.end = columns_.begin;
    if (keeps_points(run.row)) {
      run.piece.end = std::min(run.piece.end, (column / step_ + 1) * step_);
      if (column % step_ == 0 && !keep_point(run.reader)) return false;
    }
    return run.reader.set_out(run.piece.end - column, run.is_wanted ? &run.coefficients : nullptr);
  }

  // Goes on to the next piece when this one is done.
  bool arrive(Run& run) {
    if (!run.reader.has_arrived()) return true;
    return (!run.is_wanted || transform_piece(run)) && set_out(run, run.piece.end);
  }

  // Whole rows only: the known ones, then the found ones.
  void join_points() {
    const auto per_row = static_cast<size_t>(per_row_);
    std::vector<EntropyPoint>& points = found_->points;
    points.resize(points.size() / per_row * per_row);
    if (points.empty()) return;
    const auto known = known_->points.begin();
    points.insert(points.begin(), known, known + known_rows_ * per_row_);
  }
  // Points that are found, of rows that are not known.
  bool keeps_points(int64_t row) const { return found_ && row >= known_rows_; }
  bool keep_point(EntropyReader& reader) {
    Checkpoint at;
    if (!reader.checkpoint(at)) return false;
    found_->points.push_back({static_cast<uint32_t>(at.offset), static_cast<uint16_t>(at.bit), at.dc});
    return true;
  }

  bool transform_piece(const Run& run) {
    for (int c = 0; c < planes_of(form_); ++c)
      if (!transform_piece(run, c)) return false;
    return true;
  }
  bool transform_piece(const Run& run, int c) {
    const Component& component = scan_.component[static_cast<size_t>(c)];
    const Strips& strips = strips_of_component(c);
    int16_t* lines[4];
    for (int v = 0; v < component.v; ++v) lines[v] = run.lines[c][v] + strips.to_mcu(run.piece.begin);
    int16_t* out[Scan::kMostBlocks * Coefficients::kMostMcus];
    int blocks = 0;
    for (int64_t mcu = run.piece.begin; mcu < run.piece.end; ++mcu)
      for (int v = 0; v < component.v; ++v)
        for (int h = 0; h < component.h; ++h) {
          out[blocks++] = lines[v];
          lines[v] += side_ * kStripRows;
        }
    return transform_blocks(run.coefficients, c, out, blocks);
  }

  bool transform_blocks(const Coefficients& from, int c, int16_t* const* out, int blocks) {
    const uint16_t* const quant = quant_[c].data();
    if (side_ < kSide) return transform_reduced(from, c, out, blocks);
    const auto flat = [&](int16_t dc, int16_t* to) { return kernels::idct_dc_columns(dc, quant[0], to); };
    const auto pair = [&](const int16_t* coefficients, int16_t* out0, int16_t* out1) {
      return kernels::idct_pair_columns(coefficients, quant, out0, out1 ? out1 : spare_);
    };
    return transform(from, c, out, blocks, flat, pair);
  }

  bool transform_reduced(const Coefficients& from, int c, int16_t* const* out, int blocks) {
    const uint16_t* const quant = quant_[c].data();
    const auto flat = [&](int16_t dc, int16_t* to) {
      kernels::idct_dc_reduced(side_, dc, quant[0], to);
      return true;
    };
    const auto pair = [&](const int16_t* coefficients, int16_t* out0, int16_t* out1) {
      kernels::idct_pair_reduced(side_, coefficients, quant, out0, out1 ? out1 : spare_);
      return true;
    };
    return transform(from, c, out, blocks, flat, pair);
  }

  bool is_chroma_strip(int plane) const { return form_ == Form::coarse && plane > 0; }
  const Strips& strips_of_component(int c) const { return strips_[is_chroma_strip(c) ? 1 : c]; }

  void feed(int64_t row) {
    const bool is_last = row + 1 == rows_.end;
    if (form_ == Form::rgb) return feed_rgb(row, is_last);
    const Strips &luma = strips_[0], &chroma = strips_[1];
    for (Picture& picture : pictures_) {
      if (form_ == Form::coarse)  // first, so that luma waits in the ring for less time
        chroma.for_whole(row, is_last, [&](int64_t y, int64_t count) {
          picture.feed_chroma(chroma.data(y), chroma.origin(), y, count);
        });
      luma.for_whole(row, is_last, [&](int64_t y, int64_t count) {
        picture.feed(0, luma.data(y), luma.origin(), y, count);
      });
      picture.emit();
    }
  }
  void feed_rgb(int64_t row, bool is_last) {
    const Strips& first = strips_[0];  // all three are alike
    first.for_whole(row, is_last, [&](int64_t y, int64_t count) {
      kernels::strips_to_rgb(first.data(y), strips_[1].data(y), strips_[2].data(y), first.columns());
      for (Picture& picture : pictures_) {
        for (int p = 0; p < 3; ++p) picture.feed(p, strips_[p].data(y), first.origin(), y, count);
        picture.emit();
      }
    });
  }

  const Scan& scan_;
  const Tables& tables_;
  int side_;
  Form form_;
  Run run_;
  std::optional<Run> beside_;  // where points are known
  PairTable quant_[3];
  int16_t spare_[kSide * kStripRows];
  std::vector<Picture> pictures_;
  Range columns_, rows_;  // MCUs that pictures read
  const EntropyPoints* known_ = nullptr;
  EntropyPoints* found_ = nullptr;
  int64_t step_ = 1, per_row_ = 1;  // MCUs from point to point, and points per row
  int64_t known_rows_ = 0;
  Strips strips_[3];  // of luma, and of both planes of chroma; or of all three planes
};

// Samples of a block: as few as still leave the picture to be shrunk.
int side_for(const Resampled& picture) {
  if (!picture.scale_in_dct || !picture.antialias) return kSide;
  int side = 1;
  const auto leaves_enough = [&](int64_t from, int64_t to) {
    return from * side >= kLeastShrinking * to * kSide;
  };
  while (side < kSide &&
         !(leaves_enough(picture.from.h, picture.height) && leaves_enough(picture.from.w, picture.width)))
    side *= 2;
  return side;
}

// Nothing where each plane of chroma has its own resolution.
std::optional<Form> form_of(const Scan& scan, Color color) {
  if (scan.components == 1 || color == Color::gray) return Form::gray;
  const auto& [luma, cb, cr] = scan.component;
  if (cb.h != cr.h || cb.v != cr.v) return {};
  return luma.h == cb.h && luma.v == cb.v ? Form::rgb : Form::coarse;
}

}  // namespace

Result<bool> resample_planes(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                             std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                             const EntropyPoints& known, EntropyPoints* found, Scratch& scratch) {
  const std::optional<Scan> scan = read_scan_of(bytes, header);
  if (!scan) return false;
  const Tables* tables = tables_of(*scan);
  if (!tables) return false;
  const std::optional<Form> form = form_of(*scan, color);
  if (!form) return false;
  // Pictures of one scale are made in one pass. Other pictures of the image do not change a picture's bytes.
  std::vector<Resampled> alike;
  std::vector<RowSink*> their_sinks;
  for (int side = 1; side <= kSide; side *= 2) {
    alike.clear(), their_sinks.clear();
    for (size_t i = 0; i < pictures.size(); ++i)
      if (side_for(pictures[i]) == side) alike.push_back(pictures[i]), their_sinks.push_back(sinks[i]);
    if (alike.empty()) continue;
    const Scratch::Mark mark = scratch.mark();
    Memory memory(scratch);
    PlaneDecoder decoder(*scan, *tables, side, *form);
    decoder.use(known, found);
    const bool made = decoder.make(alike, their_sinks, memory);
    const bool done = made && decoder.run(scratch);
    scratch.reset(mark);
    if (!made) return memory.over_budget();
    if (!done) return scratch.is_stopped() ? Result<bool>(stopped()) : Result<bool>(false);
    found = nullptr;  // the first pass has found them
  }
  return true;
}

EntropyPoints find_points(std::span<const std::byte> bytes, int64_t step, const Scratch& scratch) {
  EntropyPoints found{step, {}};
  const EntropyPoints none{step, {}};
  const std::optional<Scan> scan = read_scan(bytes);
  const Tables* tables = scan ? tables_of(*scan) : nullptr;
  if (!tables) return found;
  PlaneDecoder decoder(*scan, *tables, kSide, Form::gray);
  decoder.use(none, &found);
  if (!decoder.pass_over_all(scratch)) found.points.clear();
  return found;
}

}  // namespace headrace::jpeg
