// headrace verify: read and decode everything, and list every broken sample.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "cli/commands.h"
#include "cli/input/hints.h"
#include "cli/input/left_out.h"
#include "cli/input/sample_reader.h"
#include "cli/look/broken.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "headrace/core/parallel_for.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/dataset/written_shards.h"
#include "headrace/run/measure/machine.h"

namespace headrace::cli {
namespace {

struct VerifyArguments {
  InputArguments input;
  size_t workers = 0;
  bool json = false;
};

constexpr size_t kMostOfAReason = 10;  // rows and records that are listed

using Decoders = std::map<std::string_view, uint64_t>;  // images decoded by each

// Whether the samples of each shard are those that were written, checked while they are read.
class Comparison {
 public:
  explicit Comparison(const Source& source)
      : shards_(written_shards(*file_store(), source)), sums_(shards_.size()) {
    for (const WrittenShard& shard : shards_)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + shard.samples);
  }
  size_t size() const { return shards_.size(); }
  void add(uint64_t index, const std::vector<Tensor>& fields) {
    if (const auto at = shard_of(index); at < sums_.size()) sums_[at].sum += sample_hash(fields);
  }
  void fail(uint64_t index) {
    if (const auto at = shard_of(index); at < sums_.size()) sums_[at].is_broken = true;
  }
  // Their paths; without shards that have broken samples, which are reported anyway.
  std::vector<std::string> altered() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < sums_.size(); ++i)
      if (!sums_[i].is_broken && sums_[i].sum != shards_[i].sum) out.push_back(shards_[i].path);
    return out;
  }

 private:
  struct Sum {
    std::atomic<uint64_t> sum{0};
    std::atomic<bool> is_broken{false};
  };
  size_t shard_of(uint64_t index) const {
    return static_cast<size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
  }

  std::vector<WrittenShard> shards_;
  std::vector<uint64_t> ends_;  // of their samples
  std::deque<Sum> sums_;
};

std::vector<Broken> find_broken(const SampleReader& reader, size_t workers, std::atomic<uint64_t>& num_bytes,
                                Decoders& decoders, Comparison& comparison) {
  const uint64_t size = reader.source().size();
  const auto pool = Pool::make(usable_memory_bytes() / 2);
  std::vector<std::unique_ptr<Pixels>> pixels;
  for (size_t i = 0; i < workers; ++i) pixels.push_back(std::make_unique<Pixels>(pool));
  std::mutex mutex;  // guards `broken`
  std::vector<Broken> broken;
  std::atomic<uint64_t> done{0};
  Progress progress("checking", size);
  parallel_for(size, workers, [&](size_t worker, uint64_t index) {
    CheckedSample sample;
    const Status status = reader.check(index, *pixels[worker], sample);
    for (const Tensor& field : sample.fields)
      if (field.buffer) num_bytes += field.view().size_bytes();
    if (sample.fields.empty())
      comparison.fail(index);
    else
      comparison.add(index, sample.fields);
    if (!status.ok()) {
      Broken one = broken_sample(reader.source(), index, status);
      const std::lock_guard lock(mutex);
      broken.push_back(std::move(one));
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

// "contents differ from what was written: 'a.tar', 'b.tar'".
std::string altered_text(const std::vector<std::string>& altered) {
  std::string out;
  for (const std::string& path : altered) out += (out.empty() ? "" : ", ") + in_quotes(path);
  return "contents differ from what was written: " + out;
}

Value json_of(const SampleReader& reader, const std::vector<Broken>& broken, const Decoders& decoders,
              double seconds, const std::string& hint, const std::vector<std::string>& altered) {
  Value out;
  out.set("samples", reader.source().size());
  out.set("seconds", seconds);
  out.set("broken", broken_values(broken));
  out.set("reasons", reason_values(broken));
  Value taken{Value::Object()};
  for (const auto& [decoder, images] : decoders) taken.set(decoder, images);
  out.set("decoders", std::move(taken));
  const Value metadata = reader.source().metadata();
  if (const Value* left_out = metadata.find("left_out")) out.set("left_out", *left_out);
  set_told(reader.source(), out);
  if (!altered.empty()) out.set("altered", Value::List(altered.begin(), altered.end()));
  const std::vector<std::string> notes = notes_in(reader.source().metadata());
  Value::List typed;
  for (const std::string& note : notes) typed.emplace_back(as_typed(note));
  if (!typed.empty()) out.set("notes", std::move(typed));
  if (!hint.empty()) out.set("hints", Value::List{hint});
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
  say("\n");
  for (const auto& [reason, count] : totals_by_reason(broken)) say("{:>8}  {}\n", count_text(count), reason);
  say("\n");
}

Result<int> verify(const VerifyArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  HEADRACE_ASSIGN(const SourcePtr source, open_data_or_image(arguments.input));
  const SampleReader reader(source);
  const size_t workers = arguments.workers > 0 ? arguments.workers : usable_cores();
  std::atomic<uint64_t> num_bytes{0};
  Decoders decoders;
  Comparison comparison(*source);
  const std::vector<Broken> broken = find_broken(reader, workers, num_bytes, decoders, comparison);
  const std::vector<std::string> altered = comparison.altered();
  const double seconds = seconds_since(begin);
  const bool is_whole = broken.empty() && altered.empty() && told_of(*source, "missing").empty() &&
                        told_of(*source, "differs").empty();
  const int code = is_whole ? kOk : kProblem;
  const std::string hint = hint_of_values(*source, arguments.input.path, *file_store(), "--option");
  if (arguments.json) {
    fmt::print("{}\n", json_of(reader, broken, decoders, seconds, hint, altered).dump(1));
    return code;
  }
  for (const std::string& line : broken_lines(broken, *source, kMostOfAReason)) say("{}\n", line);
  if (broken.size() > 1) print_totals(broken);
  const auto unknown = static_cast<uint64_t>(std::ranges::count(broken, Code::unavailable, &Broken::code));
  std::string what = !reader.has_images() ? "read; there are no images to decode" : "read and decoded";
  if (unknown > 0) what = fmt::format("{} of them not supported; {}", count_text(unknown), what);
  if (num_bytes > 0) what += ", " + size_text(static_cast<double>(num_bytes));
  say("{}: {} of {} broken ({} in {:.1f} s)\n", arguments.input.path, count_text(broken.size()),
      plural(source->size(), "sample"), what, seconds);
  if (!decoders.empty()) say("decoded by {}\n", decoders_text(decoders));
  if (const std::string left_out = left_out_text(*source); !left_out.empty())
    say("left out because of their names: {}\n", left_out);
  for (const std::string& note : notes_in(source->metadata())) say("{}\n", as_typed(note));
  for (const std::string& note : described_notes(*source)) say("{}\n", as_typed(note));
  if (!altered.empty())
    say("{}\n", altered_text(altered));
  else if (comparison.size() > 0 && broken.empty())
    say("the samples match the hashes that were stored with them\n");
  if (!hint.empty()) say("hint: {}\n", hint);
  return code;
}

}  // namespace

void add_verify(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand("verify",
                                         "Read and decode every sample; list the broken ones with their "
                                         "reasons, at most ten rows or records per reason");
  auto arguments = std::make_shared<VerifyArguments>();
  add_input_arguments(*command, arguments->input, false);
  add_count(*command, "--workers", arguments->workers,
            "Number of threads; by default one for each core this process may use", kMostThreads);
  command->add_flag(
      "--json", arguments->json,
      "Print JSON: {\"samples\", \"seconds\", \"broken\": [{\"index\", \"file\", \"reason\", "
      "\"kind\", \"facts\"}], \"reasons\": {reason: count}, \"decoders\": {name: images}}, and if there are "
      "any: files "
      "of the folder that were \"left_out\", shards that are \"missing\", how the number of samples "
      "\"differs\" from what was written, files that are \"empty\", files that were \"altered\" since they "
      "were written, \"notes\", and \"hints\" about options that would read more");
  command->footer(
      "examples:\n  headrace verify imagenet/train\n"
      "  headrace verify imagenet/train --json | jq -r '.broken[].file' > broken.txt");
  command->callback([arguments, &run] { run = [arguments] { return verify(*arguments); }; });
}

}  // namespace headrace::cli
