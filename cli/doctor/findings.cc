#include "cli/doctor/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/output/terminal.h"

namespace headrace::cli {
namespace {

// A value is an outlier if it is beyond Tukey's outer fences of the logarithms (three interquartile ranges
// beyond the quartiles), and differs from the median by a factor, for data that hardly varies.
struct Fences {
  double median = 0, low = 0, high = 0;
};
Fences fences_of(std::vector<double> values, double factor) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto quantile = [&](double q) {
    return std::max(1e-9, values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)]);
  };
  const double q25 = quantile(0.25), median = quantile(0.5), q75 = quantile(0.75);
  const double width = std::pow(q75 / q25, 3);
  return {median, std::min(median / factor, q25 / width), std::max(median * factor, q75 * width)};
}

using Measure = std::function<double(const Looked&)>;
using Choice = std::function<bool(const Looked&)>;

std::vector<double> values_of(const Look& look, const Choice& wanted, const Measure& measure) {
  std::vector<double> out;
  for (const Looked& sample : look.samples)
    if (!sample.broken && wanted(sample)) out.push_back(measure(sample));
  return out;
}

double median_of(std::vector<double> values) { return fences_of(std::move(values), 1).median; }

std::vector<uint64_t> chosen(const Look& look, const Choice& wanted) {
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < look.samples.size(); ++i)
    if (!look.samples[i].broken && wanted(look.samples[i])) out.push_back(i);
  return out;
}

bool is_image(const Looked& sample) { return sample.kind != ImageKind::none; }
double shorter(const Looked& sample) { return std::min(sample.height, sample.width); }
double longer(const Looked& sample) { return std::max(sample.height, sample.width); }
double pixels(const Looked& sample) { return static_cast<double>(sample.height) * sample.width; }
double elongation(const Looked& sample) { return longer(sample) / shorter(sample); }
double bytes_of(const Looked& sample) { return sample.bytes; }
double density(const Looked& sample) { return bytes_of(sample) / pixels(sample); }

constexpr double kTinySide = 32;     // pixels
constexpr double kFar = 8;           // times the median, for pixels
constexpr double kFarBytes = 16;     // times the median, for bytes, which vary more
constexpr double kOddAspect = 4;     // longer side to shorter
constexpr double kOddAspectFar = 3;  // times the median of that
constexpr double kMinority = 0.1;    // share of the images below which a kind is reported

std::string whole_text(double number) { return count_text(static_cast<uint64_t>(number)); }

bool is_tiny(const Looked& sample, double median_side) {
  return shorter(sample) < kTinySide && median_side >= 2 * kTinySide;
}

void find_sizes(const Look& look, std::vector<Suspicion>& out) {
  const double side = median_of(values_of(look, is_image, shorter));
  out.push_back({"tiny", fmt::format("shorter side below {:g} pixels (median {:.0f})", kTinySide, side),
                 "a thumbnail or an icon: upscaled for training, it has no detail to learn from", kTinySide,
                 chosen(look, [&](const Looked& s) { return is_image(s) && is_tiny(s, side); })});
  const Fences area = fences_of(values_of(look, is_image, pixels), kFar);
  out.push_back(
      {"huge", fmt::format("more than {} pixels (median {})", whole_text(area.high), whole_text(area.median)),
       "a batch waits for its slowest sample, and the largest one determines memory use", area.high,
       chosen(look, [&](const Looked& s) { return is_image(s) && pixels(s) > area.high; })});
  const double shape = median_of(values_of(look, is_image, elongation));
  const double odd = std::max(kOddAspect, kOddAspectFar * shape);
  out.push_back({"odd_aspect",
                 fmt::format("longer side more than {:.1f} times the shorter (median {:.2f})", odd, shape),
                 "resizing distorts it, and a square crop shows a small part of it", odd,
                 chosen(look, [&](const Looked& s) { return is_image(s) && elongation(s) > odd; })});
}

// Images by bytes per pixel, which does not depend on their sizes; other samples by bytes.
void find_bytes(const Look& look, bool images, std::vector<Suspicion>& out) {
  const Measure measure = images ? density : bytes_of;
  const double side = median_of(values_of(look, is_image, shorter));
  const Choice counts = [&](const Looked& s) { return !images || (is_image(s) && !is_tiny(s, side)); };
  Fences fences = fences_of(values_of(look, counts, measure), kFarBytes);
  if (!images) fences.low = std::max(fences.low, 1.0);  // empty samples are always reported
  const std::string_view unit = images ? "bytes per pixel" : "bytes";
  out.push_back(
      {"few_bytes",
       !images && fences.low == 1
           ? fmt::format("no bytes at all (median {:.0f})", fences.median)
           : fmt::format("fewer than {:.3g} {} (median {:.3g})", fences.low, unit, fences.median),
       images ? "the picture is nearly empty: a placeholder, a blank page" : "empty or nearly empty",
       fences.low,
       chosen(look, [&](const Looked& s) { return counts(s) && !s.one_colour && measure(s) < fences.low; })});
  out.push_back(
      {"many_bytes", fmt::format("more than {:.3g} {} (median {:.3g})", fences.high, unit, fences.median),
       images ? "an unusual encoding, or bytes that are not part of the picture; slow to read"
              : "slow to read, and the largest one determines memory use",
       fences.high, chosen(look, [&](const Looked& s) { return counts(s) && measure(s) > fences.high; })});
}

void find_kinds(const Look& look, std::vector<Suspicion>& out) {
  constexpr std::array kinds{ImageKind::colour, ImageKind::grey, ImageKind::alpha, ImageKind::cmyk};
  const auto all = static_cast<double>(chosen(look, is_image).size());
  for (const ImageKind kind : kinds) {
    Suspicion found{
        std::string(kind_name(kind)),
        fmt::format("{} images, if they are fewer than {:g} % of all", kind_name(kind), 100 * kMinority),
        kind == ImageKind::cmyk    ? "decoders convert CMYK to RGB differently"
        : kind == ImageKind::alpha ? "transparent pixels show an arbitrary colour"
        : kind == ImageKind::grey  ? "a model may learn 'grey' for a class that has many of them"
                                   : "a model for grey images sees them without their colours",
        kMinority, chosen(look, [&](const Looked& s) { return s.kind == kind; })};
    if (static_cast<double>(found.samples.size()) >= kMinority * all) found.samples.clear();
    out.push_back(std::move(found));
  }
}

}  // namespace

Copies find_copies(const Look& look) {
  std::vector<uint64_t> order = chosen(look, [](const Looked&) { return true; });
  std::ranges::sort(order, {}, [&](uint64_t i) { return std::pair(look.samples[i].hash, i); });
  Copies out;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const Looked& first = look.samples[order[begin]];
    bool one_label = true;
    for (end = begin + 1; end < order.size() && look.samples[order[end]].hash == first.hash; ++end)
      one_label = one_label && look.samples[order[end]].label == first.label;
    if (end - begin < 2) continue;
    auto& groups = one_label ? out.groups : out.conflicts;
    groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                        order.begin() + static_cast<std::ptrdiff_t>(end));
    out.repeated += end - begin - 1;
    out.repeated_bytes += static_cast<double>(end - begin - 1) * first.bytes;
  }
  // The largest first; then in the order of the data, not by hash.
  for (auto* groups : {&out.groups, &out.conflicts})
    std::ranges::sort(*groups, {}, [](const auto& group) {
      return std::pair(-static_cast<int64_t>(group.size()), group.front());
    });
  return out;
}

std::vector<Suspicion> find_suspicions(const Look& look) {
  std::vector<Suspicion> out;
  const bool images = std::ranges::any_of(look.samples, is_image);
  if (images) find_sizes(look, out);
  find_bytes(look, images, out);
  if (!images) return out;
  find_kinds(look, out);
  out.push_back({"turned", "rotated or mirrored by their EXIF tag",
                 "without decode_image(exif_orientation=True) they are not upright, and boxes do not fit", 0,
                 chosen(look, [](const Looked& s) { return s.turned; })});
  out.push_back({"one_colour", "all pixels are the same", "the picture is empty", 0,
                 chosen(look, [](const Looked& s) { return s.one_colour; })});
  out.push_back({"many_bits", "more than 8 bits a sample, or floats",
                 "decode_image refuses them without dtype=, so that no bits are lost unseen", 0,
                 chosen(look, [](const Looked& s) { return s.many_bits; })});
  return out;
}

Balance find_balance(const Look& look, uint64_t num_names) {
  constexpr double kRare = 10;
  Balance out;
  const auto& counts = look.labels.counts();
  const bool too_many = look.labels.too_many() ||
                        (num_names == 0 && counts.size() > 100 && counts.size() * 2 > look.samples.size());
  std::vector<double> sizes;
  for (const auto& [label, count] : counts) {
    sizes.push_back(static_cast<double>(count)), out.samples += count;
    if (count > out.largest.samples) out.largest = {label, count};
    if (count < out.smallest.samples || out.smallest.samples == 0) out.smallest = {label, count};
  }
  out.classes = counts.size();
  out.known = !counts.empty() && !too_many;
  if (!out.known) return out;
  out.median = median_of(sizes);
  out.ratio = static_cast<double>(out.largest.samples) / static_cast<double>(out.smallest.samples);
  for (const double size : sizes) {
    const double share = size / static_cast<double>(out.samples);
    out.entropy_bits -= share * std::log2(share);
  }
  out.effective_classes = std::exp2(out.entropy_bits);
  for (const auto& [label, count] : counts) {
    if (static_cast<double>(count) * kRare < out.median) out.rare.push_back({label, count});
    if (static_cast<double>(count) > out.median * kRare) out.large.push_back({label, count});
  }
  for (uint64_t name = 0; name < num_names && look.samples.size() == look.size; ++name)
    if (!counts.contains(std::to_string(name))) out.empty.push_back(std::to_string(name));
  return out;
}

}  // namespace headrace::cli
