#include "cli/doctor/look.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "cli/output/terminal.h"
#include "headrace/core/parallel_for.h"
#include "headrace/run/measure/machine.h"

namespace headrace::cli {
namespace {

// A field that only identifies a sample.
bool is_key(std::string_view name) { return name == "__key__" || name == "key" || name == "id"; }

std::array<uint64_t, 2> hash_of(XXH128_hash_t hash) { return {hash.low64, hash.high64}; }

uint32_t as_u32(uint64_t bytes) {
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, std::numeric_limits<uint32_t>::max()));
}

// Every field but keys and the label; all fields if there are no others.
std::vector<size_t> fields_to_hash(const Schema& schema, int label) {
  std::vector<size_t> all, out;
  for (size_t f = 0; f < schema.size(); ++f) {
    all.push_back(f);
    if (static_cast<int>(f) != label && !is_key(schema.names[f])) out.push_back(f);
  }
  return out.empty() ? all : out;
}

// Each field with its length, so that bytes cannot move from one field to the next.
void hash_fields(const std::vector<size_t>& which, const std::vector<Tensor>& fields, Looked& out) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  uint64_t total = 0;
  for (const size_t f : which) {
    const std::span<const std::byte> bytes =
        fields[f].buffer ? fields[f].view().bytes() : std::span<const std::byte>();
    const std::array<uint64_t, 2> begins{f, bytes.size()};
    XXH3_128bits_update(&state, begins.data(), sizeof begins);
    XXH3_128bits_update(&state, bytes.data(), bytes.size());
    total += bytes.size();
  }
  out.hash = hash_of(XXH3_128bits_digest(&state)), out.bytes = as_u32(total);
}

struct Content {
  bool one_colour = true, grey = true;  // red, green and blue are equal in every pixel
};

// Stops once both are false: early, in most images.
Content content_of(std::span<const uint8_t> rgb) {
  Content out;
  for (size_t at = 0; at + 2 < rgb.size() && (out.one_colour || out.grey); at += 3) {
    const uint8_t* pixel = rgb.data() + at;
    out.grey = out.grey && pixel[0] == pixel[1] && pixel[1] == pixel[2];
    out.one_colour = out.one_colour && std::equal(pixel, pixel + 3, rgb.data());
  }
  return out;
}

ImageKind kind_of(const ImageHeader& header, const Content& content) {
  if (header.is_cmyk) return ImageKind::cmyk;
  if (header.channels == 2 || header.channels == 4) return ImageKind::alpha;
  // An image of one colour in three channels may be of any kind.
  return header.channels == 1 || (content.grey && !content.one_colour) ? ImageKind::grey : ImageKind::colour;
}

void describe(const CheckedSample& sample, const Pixels& pixels, Looked& out) {
  const XXH128_hash_t hash = XXH3_128bits(sample.image->data(), sample.image->size());
  const Content content = content_of(pixels.rgb());
  out.hash = hash_of(hash), out.bytes = as_u32(sample.image->size());
  out.height = static_cast<uint16_t>(sample.header.height);
  out.width = static_cast<uint16_t>(sample.header.width);
  out.kind = kind_of(sample.header, content);
  out.turned = sample.header.orientation != 1, out.one_colour = content.one_colour;
  out.many_bits = sample.header.dtype != DType::u8;
}

// Results of one thread.
struct Partial {
  explicit Partial(std::shared_ptr<Pool> pool) : pixels(std::move(pool)) {}
  Pixels pixels;
  Times read, decode;
  double num_bytes = 0, num_pixels = 0;
};

}  // namespace

std::string_view kind_name(ImageKind kind) {
  constexpr std::array<std::string_view, 5> names{"none", "colour", "grey", "alpha", "cmyk"};
  return names[static_cast<size_t>(kind)];
}

void Times::add(double seconds, uint64_t sample) {
  const double octaves = std::log2(std::max(1.0, seconds * 1e9));
  ++bins_[std::min(bins_.size() - 1, static_cast<size_t>(octaves * 8))];
  ++count_, sum_ += seconds;
  keep({seconds, sample});
}

void Times::keep(const One& one) {
  const auto by_seconds = [](const One& a, const One& b) { return a.seconds > b.seconds; };
  if (greatest_.size() == kGreatest) {
    if (greatest_.front().seconds >= one.seconds) return;
    std::ranges::pop_heap(greatest_, by_seconds);
    greatest_.pop_back();
  }
  greatest_.push_back(one);
  std::ranges::push_heap(greatest_, by_seconds);
}

void Times::merge(const Times& other) {
  for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  count_ += other.count_, sum_ += other.sum_;
  for (const One& one : other.greatest_) keep(one);
}

double Times::median() const {
  uint64_t before = 0;
  for (size_t i = 0; i < bins_.size(); ++i)
    if ((before += bins_[i]) * 2 >= count_ && count_ > 0)
      return std::exp2((static_cast<double>(i) + 0.5) / 8) * 1e-9;
  return 0;
}

uint64_t Look::index(uint64_t position) const {
  if (samples.size() == size) return position;
  // In doubles: the product may not fit in 64 bits, and then the spread need not be exact.
  return static_cast<uint64_t>(static_cast<double>(position) * static_cast<double>(size) /
                               static_cast<double>(samples.size()));
}

void look_at_samples(const SampleReader& reader, const LabelReader& labels, uint64_t count, size_t workers,
                     Look& out) {
  const auto begin = std::chrono::steady_clock::now();
  const Schema& schema = reader.source().schema();
  const std::vector<size_t> hashed = fields_to_hash(schema, labels.field());
  for (const size_t f : hashed)
    if (!reader.has_images()) out.hashed.push_back(schema.names[f]);
  if (reader.has_images()) out.hashed.push_back("image");
  const size_t memory = usable_memory_bytes();
  out.size = reader.source().size();
  const uint64_t wanted = std::min(count, out.size), room = memory / 4 / kBytesPerSample;
  out.cut_by_memory = wanted > room;
  out.samples.resize(std::min(wanted, room));
  const auto pool = Pool::make(memory / 2);
  std::vector<std::unique_ptr<Partial>> partials;
  for (size_t i = 0; i < workers; ++i) partials.push_back(std::make_unique<Partial>(pool));
  std::mutex mutex;  // guards out.broken
  std::atomic<uint64_t> done{0};
  Progress progress("looking", out.samples.size());
  parallel_for(out.samples.size(), workers, [&](size_t worker, uint64_t position) {
    Partial& mine = *partials[worker];
    Looked& looked = out.samples[position];
    CheckedSample sample;
    if (const Status status = reader.check(out.index(position), mine.pixels, sample); !status.ok()) {
      looked.broken = true;
      const uint64_t index = out.index(position);
      Broken one = broken_sample(reader.source(), index, status);
      const std::lock_guard lock(mutex);
      out.broken.push_back(std::move(one));
    } else {
      if (sample.image)
        describe(sample, mine.pixels, looked), mine.decode.add(sample.decode_cpu_s, position);
      else
        hash_fields(hashed, sample.fields, looked);
      if (const auto label = labels.of(sample.fields)) looked.label = out.labels.add(*label);
      mine.read.add(sample.read_s, position);
      mine.num_bytes += looked.bytes, mine.num_pixels += static_cast<double>(looked.height) * looked.width;
    }
    ++done;
    if (worker == 0) progress.show(done);
    return true;
  });
  std::ranges::sort(out.broken, {}, &Broken::index);
  for (const auto& partial : partials) {
    out.read.merge(partial->read), out.decode.merge(partial->decode);
    out.num_bytes += partial->num_bytes, out.num_pixels += partial->num_pixels;
  }
  out.seconds = seconds_since(begin);
}

}  // namespace headrace::cli
