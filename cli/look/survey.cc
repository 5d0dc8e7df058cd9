#include "cli/look/survey.h"

#include <algorithm>
#include <mutex>

#include "cli/input/labels.h"
#include "cli/output/terminal.h"
#include "headrace/core/parallel_for.h"

namespace headrace::cli {
namespace {

std::string kind_of(const ImageHeader& header) {
  const std::string_view channels[] = {"", "grey", "grey and alpha", "colour",
                                       header.is_cmyk ? "CMYK" : "colour and alpha"};
  std::string out = std::string(image_format_name(header)) + " " + std::string(channels[header.channels]);
  if (header.bit_depth != 8)
    out += " of " + std::to_string(header.bit_depth) + (header.bit_depth == 1 ? " bit" : " bits");
  return out;
}

void add_image(const ImageHeader& header, Survey& out) {
  out.heights.push_back(header.height), out.widths.push_back(header.width);
  ++out.dimensions[{header.height, header.width}];
  ++out.kinds[kind_of(header)];
  if (header.orientation != 1) ++out.turned;
}

void add_labels(const Tensor& labels, Survey& out) {
  const View view = labels.view();
  for (int64_t i = 0; i < view.shape.count(); ++i) ++out.labels[view.as<int64_t>()[i]];
}

// Add one sample to the survey; the Status is why it is broken. `mutex` guards `out`.
Status look(const SampleReader& reader, uint64_t index, std::mutex& mutex, Survey& out) {
  HEADRACE_ASSIGN(const std::vector<Tensor> fields, reader.read(index));
  size_t num_bytes = 0;
  ImageHeader header;
  const auto image = reader.has_images() ? reader.image(fields) : std::nullopt;
  if (image) {
    HEADRACE_ASSIGN(header, read_image_header(*image));
    num_bytes = image->size();
  } else {
    for (const Tensor& field : fields) num_bytes += field.buffer ? field.view().size_bytes() : 0;
  }
  const std::lock_guard lock(mutex);
  out.bytes.push_back(num_bytes);
  if (image) add_image(header, out);
  if (reader.example_field() >= 0)
    out.features.add(fields[static_cast<size_t>(reader.example_field())].view().bytes());
  if (out.label_field >= 0) add_labels(fields[static_cast<size_t>(out.label_field)], out);
  return {};
}

}  // namespace

Survey survey(const SampleReader& reader, uint64_t count, size_t workers) {
  Survey out;
  out.size = reader.source().size();
  out.looked = std::min(count, out.size);
  out.label_field = find_label(reader.source().schema());
  std::mutex mutex;
  std::atomic<uint64_t> done{0};
  Progress progress("looking", out.looked);
  parallel_for(out.looked, workers, [&](size_t worker, uint64_t i) {
    // In doubles: i * size may not fit in 64 bits, and then the spread need not be exact.
    const auto index = out.looked == out.size
                           ? i
                           : static_cast<uint64_t>(static_cast<double>(i) * static_cast<double>(out.size) /
                                                   static_cast<double>(out.looked));
    if (Status status = look(reader, index, mutex, out); !status.ok()) {
      Broken one = broken_sample(reader.source(), index, status);
      const std::lock_guard lock(mutex);
      out.broken.push_back(std::move(one));
    }
    ++done;
    if (worker == 0) progress.show(done);
    return true;
  });
  std::ranges::sort(out.bytes), std::ranges::sort(out.heights), std::ranges::sort(out.widths);
  std::ranges::sort(out.broken, {}, &Broken::index);
  return out;
}

}  // namespace headrace::cli
