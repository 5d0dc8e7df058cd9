#include "cli/doctor/slow.h"

#include <algorithm>
#include <set>

#include "cli/doctor/files.h"
#include "cli/output/terminal.h"
#include "headrace/run/measure/machine.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kOrdinary = 24;
constexpr int kAgain = 3;  // measurements of a candidate; the least counts, as other programs interfere
constexpr double kSecondsForAll = 5;  // for all measurements

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The positions that were slow, the slowest first.
std::vector<uint64_t> candidates_of(const Times& times, double least) {
  std::vector<Times::One> slow = times.greatest();
  std::ranges::sort(slow, std::ranges::greater{}, &Times::One::seconds);
  std::vector<uint64_t> out;
  for (const Times::One& one : slow)
    if (one.seconds >= std::max(least, Slow::kFar * times.median())) out.push_back(one.sample);
  return out;
}

class MeasuringAgain {
 public:
  MeasuringAgain(const SampleReader& reader, const Look& look)
      : reader_(reader),
        look_(look),
        watched_(file_store()),
        pixels_(Pool::make(usable_memory_bytes() / 2)) {}

  // Reads the sample to find out which bytes it consists of, drops them from the page cache, and times a
  // read.
  Result<Slow::One> measure(uint64_t position) {
    const Source& source = reader_.source();
    const Place place = source.place(look_.index(position));
    HEADRACE_TRY(drive_block(source, place.block, watched_).status());
    const std::vector<Piece> pieces = watched_.take();
    forget(watched_.files(), {&pieces, 1});
    const auto begin = std::chrono::steady_clock::now();
    HEADRACE_ASSIGN(const BlockPtr block, drive_block(source, place.block, *store_));
    std::vector<Tensor> fields;
    HEADRACE_TRY(block->get(place.row, fields));
    Slow::One out{position, seconds_since(begin), 0};
    const auto image = reader_.has_images() ? reader_.image(fields) : std::nullopt;
    if (!image) return out;
    const double before = thread_cpu_s();
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(*image));
    HEADRACE_TRY(pixels_.decode(*image, header));
    out.decode_s = thread_cpu_s() - before;
    return out;
  }

  Result<Slow::One> least(uint64_t position) {
    HEADRACE_ASSIGN(Slow::One out, measure(position));
    for (int i = 1; i < kAgain; ++i) {
      HEADRACE_ASSIGN(const Slow::One again, measure(position));
      out.read_s = std::min(out.read_s, again.read_s), out.decode_s = std::min(out.decode_s, again.decode_s);
    }
    return out;
  }

 private:
  const SampleReader& reader_;
  const Look& look_;
  WatchedStore watched_;
  std::shared_ptr<Store> store_ = file_store();
  Pixels pixels_;
};

}  // namespace

double samples_a_block(const Source& source) {
  constexpr uint64_t kPairs = 256;
  const uint64_t size = source.size(), pairs = std::min(kPairs, size > 0 ? size - 1 : 0);
  uint64_t same = 0;
  for (uint64_t i = 0; i < pairs; ++i) {
    const uint64_t at = pairs < kPairs ? i : (size - 1) / kPairs * i;
    same += source.place(at).block == source.place(at + 1).block;
  }
  // With blocks of n samples, 1/n of the pairs of neighbours are in different blocks.
  return pairs == 0 ? 1
                    : static_cast<double>(pairs) / static_cast<double>(std::max<uint64_t>(1, pairs - same));
}

Slow find_slow(const SampleReader& reader, const Look& look) {
  Slow out;
  out.shares_blocks = samples_a_block(reader.source()) > 1.01;
  std::vector<uint64_t> order = candidates_of(look.decode, Slow::kLeastDecode);
  if (!out.shares_blocks)
    for (const uint64_t position : candidates_of(look.read, Slow::kLeastRead))
      if (std::ranges::find(order, position) == order.end()) order.push_back(position);
  out.candidates = order.size();
  out.median_read_s = look.read.median(), out.median_decode_s = look.decode.median();
  std::vector<Slow::One> again;
  if (!order.empty()) {
    const std::set<uint64_t> slow(order.begin(), order.end());
    const uint64_t rounds = std::max<uint64_t>(order.size(), kOrdinary);
    std::vector<double> read;  // of ordinary samples
    MeasuringAgain measuring(reader, look);
    Progress progress("measuring slow samples", order.size());
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < rounds && (i == 0 || seconds_since(begin) < kSecondsForAll); ++i) {
      // Evenly spread, and alternating with slow ones: a temporarily slow disk affects both.
      const uint64_t ordinary = (2 * i + 1) * look.samples.size() / (2 * rounds);
      if (!slow.contains(ordinary) && !look.samples[ordinary].broken)
        if (const auto one = measuring.measure(ordinary); one.ok()) read.push_back(one->read_s);
      if (i < order.size())
        if (const auto one = measuring.least(order[i]); one.ok()) again.push_back(*one);
      progress.show(std::min<uint64_t>(i + 1, order.size()));
    }
    if (!read.empty()) out.median_read_s = middle_of(read);
  }
  out.read_threshold_s = std::max(Slow::kLeastRead, Slow::kFar * out.median_read_s);
  out.decode_threshold_s = std::max(Slow::kLeastDecode, Slow::kFar * out.median_decode_s);
  for (const Slow::One& one : again)
    if ((!out.shares_blocks && one.read_s >= out.read_threshold_s) || one.decode_s >= out.decode_threshold_s)
      out.samples.push_back(one);
  std::ranges::sort(out.samples, std::ranges::greater{},
                    [](const Slow::One& one) { return one.read_s + one.decode_s; });
  return out;
}

}  // namespace headrace::cli
