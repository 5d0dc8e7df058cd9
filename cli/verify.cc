// headrace verify: read and decode everything, and name every broken sample.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>

#include "cli/commands.h"
#include "cli/left_out.h"
#include "cli/parallel.h"
#include "cli/sample_reader.h"
#include "cli/terminal.h"
#include "headrace/codecs/codec.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/shards.h"
#include "headrace/run/machine.h"

namespace headrace::cli {
namespace {

struct Arguments {
  InputArguments input;
  size_t workers = 0;
  bool json = false;
};

struct Broken {
  uint64_t index;
  std::string file, reason;
  Code code;
};

// Every image field is decoded in full; other fields are as good as their format's own checks.
Status check_sample(const SampleReader& reader, uint64_t index, Pixels& pixels,
                    std::atomic<uint64_t>& num_bytes) {
  HEADRACE_ASSIGN(const std::vector<Tensor> fields, reader.read(index));
  for (const Tensor& field : fields)
    if (field.buffer) num_bytes += field.view().size_bytes();
  const auto bytes = reader.has_images() ? reader.image(fields) : std::nullopt;
  if (!bytes) return {};
  HEADRACE_ASSIGN(const ImageHeader header, read_image_header(*bytes));
  return pixels.decode(*bytes, header);
}

using Decoders = std::map<std::string_view, uint64_t>;  // images each took

std::vector<Broken> find_broken(const SampleReader& reader, size_t workers, std::atomic<uint64_t>& num_bytes,
                                Decoders& decoders) {
  const uint64_t size = reader.source().size();
  const auto pool = Pool::make(usable_memory_bytes() / 2);
  std::vector<std::unique_ptr<Pixels>> pixels;
  for (size_t i = 0; i < workers; ++i) pixels.push_back(std::make_unique<Pixels>(pool));
  std::mutex mutex;  // guards `broken`
  std::vector<Broken> broken;
  std::atomic<uint64_t> done{0};
  Progress progress("checking", size);
  parallel_for(size, workers, [&](size_t worker, uint64_t index) {
    Status status = check_sample(reader, index, *pixels[worker], num_bytes);
    if (!status.ok()) {
      std::string file = reader.file(index);
      const std::lock_guard lock(mutex);
      broken.push_back({index, std::move(file), std::string(status.text()), status.code()});
    }
    ++done;
    if (worker == 0) progress.show(done);
    return true;
  });
  std::ranges::sort(broken, {}, &Broken::index);
  for (const auto& one : pixels)
    for (const auto& [decoder, images] : one->decoders()) decoders[decoder] += images;
  return broken;
}

// The reason without what differs from file to file: "… 17 extraneous bytes …" as "… # extraneous bytes …",
// and without the first bytes of what is no image.
std::string reason_class(std::string_view reason) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  reason = reason.substr(0, reason.find(" (starts with"));
  std::string out;
  for (size_t i = 0; i < reason.size();) {
    const bool begins =
        is_digit(reason[i]) && (out.empty() || !std::isalnum(static_cast<uint8_t>(out.back())));
    if (!begins) {
      out += reason[i++];
      continue;
    }
    const bool hex = reason.substr(i).starts_with("0x");
    for (i += hex ? 2 : 1; i < reason.size() && (hex ? is_hex(reason[i]) : is_digit(reason[i]));) ++i;
    out += '#';
  }
  return out;
}

// The classes of reasons, the most frequent first.
std::vector<std::pair<std::string, uint64_t>> totals_by_reason(const std::vector<Broken>& broken) {
  std::map<std::string, uint64_t> counts;
  for (const Broken& b : broken) ++counts[reason_class(b.reason)];
  std::vector<std::pair<std::string, uint64_t>> out(counts.begin(), counts.end());
  std::ranges::stable_sort(out, std::ranges::greater{}, [](const auto& total) { return total.second; });
  return out;
}

Value json_of(const SampleReader& reader, const std::vector<Broken>& broken, const Decoders& decoders,
              double seconds) {
  Value out, totals{Value::Object()};
  out.set("samples", reader.source().size());
  out.set("seconds", seconds);
  Value::List list;
  for (const Broken& b : broken) {
    Value entry;
    entry.set("index", b.index), entry.set("file", b.file), entry.set("reason", b.reason);
    entry.set("kind", code_name(b.code));
    list.push_back(std::move(entry));
  }
  out.set("broken", std::move(list));
  for (const auto& [reason, count] : totals_by_reason(broken)) totals.set(reason, count);
  out.set("reasons", std::move(totals));
  Value taken{Value::Object()};
  for (const auto& [decoder, images] : decoders) taken.set(decoder, images);
  out.set("decoders", std::move(taken));
  const Value metadata = reader.source().metadata();
  if (const Value* left_out = metadata.find("left_out")) out.set("left_out", *left_out);
  if (const std::string missing = missing_shards(reader.source()); !missing.empty())
    out.set("missing", missing);
  return out;
}

// "headrace (baseline JPEG): 250, libjpeg-turbo: 8".
std::string decoders_text(const Decoders& decoders) {
  std::string out;
  for (const auto& [decoder, images] : decoders)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", decoder, count_text(images));
  return out;
}

void print_totals(const std::vector<Broken>& broken) {
  fmt::print("\n");
  for (const auto& [reason, count] : totals_by_reason(broken))
    fmt::print("{:>8}  {}\n", count_text(count), reason);
  fmt::print("\n");
}

// The data, or one image by itself.
Result<SourcePtr> open_data_or_image(const InputArguments& input) {
  std::error_code ignored;
  if (!input.format.empty() || !has_image_ending(input.path) ||
      !std::filesystem::is_regular_file(input.path, ignored))
    return open_data(input);
  ImageFiles files;
  files.names.add(input.path);
  OpenRequest request;
  request.probes.emplace_back().path = input.path;
  return image_files_source(std::move(files), "images", request);
}

Result<int> verify(const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  HEADRACE_ASSIGN(const SourcePtr source, open_data_or_image(arguments.input));
  const SampleReader reader(source);
  const size_t workers = arguments.workers > 0 ? arguments.workers : usable_cores();
  std::atomic<uint64_t> num_bytes{0};
  Decoders decoders;
  const std::vector<Broken> broken = find_broken(reader, workers, num_bytes, decoders);
  const double seconds = seconds_since(begin);
  const std::string missing = missing_shards(*source);
  const int code = broken.empty() && missing.empty() ? kOk : kProblem;
  if (arguments.json) {
    fmt::print("{}\n", json_of(reader, broken, decoders, seconds).dump(1));
    return code;
  }
  for (const Broken& b : broken) fmt::print("{}: {}\n", b.file, b.reason);
  if (broken.size() > 1) print_totals(broken);
  const auto unknown = static_cast<uint64_t>(std::ranges::count(broken, Code::unavailable, &Broken::code));
  std::string what = !reader.has_images() ? "read; they hold no images to decode" : "read and decoded";
  if (unknown > 0)
    what = fmt::format("{} of them of a kind that is not supported; {}", count_text(unknown), what);
  fmt::print("{}: {} of {} broken ({}, {} in {:.1f} s)\n", arguments.input.path, count_text(broken.size()),
             plural(source->size(), "sample"), what, size_text(static_cast<double>(num_bytes)), seconds);
  if (!decoders.empty()) fmt::print("decoded by {}\n", decoders_text(decoders));
  if (const std::string left_out = left_out_text(*source); !left_out.empty())
    fmt::print("left out, by their names: {}\n", left_out);
  if (!missing.empty()) fmt::print("{}\n", missing);
  return code;
}

}  // namespace

void add_verify(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "verify", "Read and decode every sample; list the broken ones with their reasons");
  auto arguments = std::make_shared<Arguments>();
  add_input_arguments(*command, arguments->input, false);
  add_count(*command, "--workers", arguments->workers,
            "Threads; all cores this process may use when not given", kMostThreads);
  command->add_flag("--json", arguments->json,
                    "Print JSON: {\"samples\", \"seconds\", \"broken\": [{\"index\", \"file\", \"reason\", "
                    "\"kind\"}], \"reasons\": {reason: how many}, \"decoders\": {name: images}}, and what "
                    "\"left_out\" of a folder when files were, and which shards are \"missing\"");
  command->footer(
      "examples:\n  headrace verify imagenet/train\n"
      "  headrace verify imagenet/train --json | jq -r '.broken[].file' > broken.txt");
  command->callback([arguments, &run] { run = [arguments] { return verify(*arguments); }; });
}

}  // namespace headrace::cli
