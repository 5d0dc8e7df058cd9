// headrace convert: write data in another format, or the same data sharded, shuffled or made smaller.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "cli/commands.h"
#include "cli/input/hints.h"
#include "cli/input/input.h"
#include "cli/input/left_out.h"
#include "cli/look/encoded_again.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "headrace/core/byte_size.h"
#include "headrace/core/text/closest.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/writer.h"

namespace headrace::cli {
namespace {

struct ConvertArguments {
  InputArguments input;
  std::string target, shard_size;
  std::vector<std::string> options, where, fields, unscaled;
  WriteOptions write;
  std::optional<uint64_t> shuffle;
  uint64_t take = 0, max_side = 0, quality = 0;
  bool index = false, json = false;
};

// "label<10": a field, a comparison, a number.
struct Condition {
  std::string field, op;
  Value number;
};

Condition parse_condition(const std::string& text) {
  struct Sign {
    std::string_view sign, op;
  };
  constexpr std::array signs{Sign{"==", "equal"},         Sign{"!=", "not_equal"}, Sign{"<=", "less_equal"},
                             Sign{">=", "greater_equal"}, Sign{"<", "less"},       Sign{">", "greater"},
                             Sign{"=", "equal"}};
  for (const Sign& sign : signs) {
    const size_t at = text.find(sign.sign);
    if (at == std::string::npos || at == 0) continue;
    const auto number = Value::parse(text.substr(at + sign.sign.size()));
    if (!number.ok() || (!number->integer() && !number->real())) break;
    return {text.substr(0, at), std::string(sign.op), *number};
  }
  refuse("--where: expected a field, a comparison and a number, such as label==3, got '" + text + "'");
}

std::string meant(const std::string& wrong, const Schema& schema) {
  const std::vector<std::string_view> names(schema.names.begin(), schema.names.end());
  return did_you_mean(wrong, names);
}

// Fields of the new data, each as (new name, old name): "image=jpg", or "jpg" to keep the name; all fields
// if none are given. A name also stands for all fields below it: "captions" for "captions/values" and
// "captions/lengths".
std::vector<std::pair<std::string, std::string>> chosen_fields(const Schema& schema,
                                                               std::span<const std::string> fields) {
  std::vector<std::pair<std::string, std::string>> chosen;
  if (fields.empty())
    for (const std::string& field : schema.names) chosen.emplace_back(field, field);
  for (const std::string& text : fields) {
    const size_t at = text.find('=');
    const std::string name = text.substr(0, at), old = at == std::string::npos ? text : text.substr(at + 1);
    const size_t before = chosen.size();
    for (const std::string& field : schema.names) {
      if (name.empty() || (field != old && !field.starts_with(old + "/"))) continue;
      const std::string called = name + field.substr(old.size());
      if (std::ranges::any_of(chosen, [&](const auto& one) { return one.first == called; }))
        refuse("--fields: '" + called + "' is given twice");
      chosen.emplace_back(called, field);
    }
    if (chosen.size() == before)
      refuse("--fields: expected FIELD or NEW=OLD, got '" + text + "'; there is no field '" + old + "'" +
             meant(old, schema) + " (" + schema.text() + ")");
  }
  return chosen;
}

Dataset with_fields(const Dataset& data, const Schema& schema, std::span<const std::string> fields) {
  const auto chosen = chosen_fields(schema, fields);
  return data.map(
      [&](const Fields& sample) {
        Outputs out;
        for (const auto& [name, old] : chosen) out.emplace_back(name, sample[old]);
        return out;
      },
      kNoLine);
}

// The logical types that the numbers of the new fields have in the source, which no written format records:
// {"ts": "timestamp[us]"}.
Value types_written(const Source& source, std::span<const std::string> fields) {
  Value out{Value::Object()};
  const Value types = types_in(source);
  for (const auto& [name, old] : chosen_fields(source.schema(), fields))
    if (const Value* type = types.find(old)) out.set(name, *type);
  return out;
}

std::string types_text(const Value& types) {
  std::string out;
  for (const auto& [name, type] : *types.object())
    out += (out.empty() ? "" : ", ") + name + " (" + *type.text() +
           (type.text()->starts_with("decimal") ? ", rounded)" : ")");
  return out;
}

// Refuses images that are shrunk without what lies in them.
void check_sizes(const Schema& schema, const ConvertArguments& arguments, int image) {
  const std::vector<std::string> all = sized_fields(schema, image);
  std::string sized, others;
  for (const auto& [name, old] : chosen_fields(schema, arguments.fields)) {
    const bool is_sized = std::ranges::find(all, old) != all.end();
    const bool is_fine = std::ranges::any_of(
        arguments.unscaled, [&](const std::string& one) { return one == old || old.starts_with(one + "/"); });
    const bool is_refused = is_sized && !is_fine;
    std::string& list = is_refused ? sized : others;
    list += (list.empty() ? "" : ",") + (is_refused || name == old ? old : name + "=" + old);
  }
  for (const std::string& one : arguments.unscaled)
    if (std::ranges::none_of(schema.names, [&](const std::string& name) {
          return name == one || name.starts_with(one + "/");
        }))
      refuse("--unscaled: there is no field '" + one + "'" + meant(one, schema) + " (" + schema.text() + ")");
  if (sized.empty()) return;
  refuse("--max-side shrinks the images but not what belongs to their size: " + sized +
         "; leave these out with --fields " + others +
         ", or copy them as they are, if they do not count pixels, with --unscaled " + sized);
}

Result<Dataset> dataset_of(const SourcePtr& source, const ConvertArguments& arguments, int image) {
  const Schema& schema = source->schema();
  Dataset out = from_source(source);
  if (arguments.shuffle) out = out.shuffle({.seed = *arguments.shuffle}, kNoLine);
  if (arguments.take > 0) out = out.take(arguments.take, kNoLine);
  if (arguments.max_side > 0 || arguments.quality > 0) {
    if (image < 0) refuse("--max-side and --quality need images; there are none in {" + schema.text() + "}");
    if (arguments.max_side > 0) check_sizes(schema, arguments, image);
    out = encoded_again(out, schema, image, arguments.max_side, arguments.quality);
  }
  for (const std::string& text : arguments.where) {
    const Condition condition = parse_condition(text);
    if (schema.find(condition.field) < 0)
      refuse("--where: there is no field '" + condition.field + "'" + meant(condition.field, schema) + " (" +
             schema.text() + ")");
    out = out.filter(
        [&](const Fields& sample) {
          return sample[condition.field].apply(condition.op, {{"value", condition.number}});
        },
        kNoLine);
  }
  if (!arguments.fields.empty()) out = with_fields(out, schema, arguments.fields);
  HEADRACE_TRY(out.node().status());
  return out;
}

std::string time_text(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// The progress bar, with the rate so far and the remaining time.
class Showing {
 public:
  explicit Showing(uint64_t total) : writing_("converting", total), verifying_("verifying", total) {}
  bool show(const WriteProgress& p) {
    if (p.phase == WriteProgress::Phase::verifying) return verifying_.show(p.samples), true;
    if (p.phase == WriteProgress::Phase::finishing) return writing_.show(p.samples, "to disk …"), true;
    const double seconds = seconds_since(begin_);
    std::string more = size_text(static_cast<double>(p.bytes) / std::max(seconds, 1e-3)) + "/s";
    if (p.total && p.written > 0) {
      const double left = static_cast<double>(*p.total - std::min(*p.total, p.samples));
      more += ", " + time_text(left * seconds / static_cast<double>(p.written)) + " left";
    }
    writing_.show(p.samples, more);
    return true;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Progress writing_, verifying_;
};

// Where records and the rows of JPEG files begin, stored next to the new data.
Result<IndexedPoints> index_of(const WriteReport& report, const std::string& target) {
  Progress progress("indexing", report.manifest.samples());
  IndexOptions options;
  options.beside = true;
  options.progress = [&](uint64_t done) { return progress.show(done), true; };
  return index(read(target, report.manifest.format), options);
}

// A hint for values that were copied as bytes and could have been parsed.
std::string hint_of(const WriteReport& report, const ConvertArguments& arguments, const Source& source) {
  if (report.manifest.format == "lmdb") return "";
  return hint_of_values(source, arguments.input.path, *file_store(), "--source-option");
}

Value json_of(const WriteReport& report, const ConvertArguments& arguments, double seconds,
              const Source& source) {
  Value out;
  out.set("path", arguments.target), out.set("format", report.manifest.format);
  out.set("samples", report.manifest.samples()), out.set("bytes", report.manifest.bytes());
  out.set("shards", report.manifest.shards.size()), out.set("reused_shards", report.reused_shards);
  out.set("broken", report.broken), out.set("seconds", seconds);
  const Value metadata = source.metadata();
  if (const Value* columns = metadata.find("left_out_columns")) out.set("left_out_columns", *columns);
  set_told(source, out);
  if (Value types = types_written(source, arguments.fields); !types.object()->empty())
    out.set("plain_numbers", std::move(types));
  if (std::string hint = hint_of(report, arguments, source); !hint.empty())
    out.set("hints", Value::List{std::move(hint)});
  return out;
}

std::string quarantine_of(const std::string& target) {
  std::error_code error;
  return target + (std::filesystem::is_directory(target, error) ? "/" : ".") + "quarantine.json";
}

void print(const WriteReport& report, const ConvertArguments& arguments, double seconds,
           const Source& source) {
  const auto bytes = static_cast<double>(report.manifest.bytes());
  say("{}: {} in {} of {}, {} ({:.1f} s, {}/s)\n", arguments.target,
      plural(report.manifest.samples(), "sample"), plural(report.manifest.shards.size(), "file"),
      report.manifest.format, size_text(bytes), seconds,
      size_text((bytes - static_cast<double>(report.reused_bytes)) / std::max(seconds, 1e-3)));
  if (report.manifest.samples() == 0 && !arguments.where.empty() && source.size() > 0)
    say("no sample matches --where\n");
  if (report.reused_shards > 0)
    say("{} of them from an earlier, interrupted run\n", plural(report.reused_shards, "file"));
  if (!report.discarded.empty()) say("files of an earlier run were not reused: {}\n", report.discarded);
  for (const std::string& warning : report.warnings) say("note: {}\n", warning);
  if (report.broken > 0)
    say("{} left out: see {}\n", plural(report.broken, "broken sample"), quarantine_of(arguments.target));
  if (const std::string left_out = left_out_columns_text(source);
      !left_out.empty() && arguments.fields.empty())
    say("left out: {}\n", left_out);
  for (const std::string& note : described_notes(source))
    say("{}: {}\n", arguments.input.path, as_typed(note, true));
  for (const std::string& note : notes_in(source.metadata()))
    say("{}: {}\n", arguments.input.path, as_typed(note, true));
  if (const std::string types = types_text(types_written(source, arguments.fields)); !types.empty())
    say("written as plain numbers: {}\n", types);
  if (const std::string hint = hint_of(report, arguments, source); !hint.empty()) say("hint: {}\n", hint);
  if (arguments.write.verify) say("read back and compared\n");
}

Result<int> convert(ConvertArguments arguments) {
  const auto begin = std::chrono::steady_clock::now();
  WriteOptions& write_options = arguments.write;
  write_options.options = options_value(arguments.options);
  if (!arguments.shard_size.empty()) {
    auto size = parse_byte_size(arguments.shard_size);
    if (!size.ok()) refuse("--shard-size: " + std::string(size.status().text()));
    constexpr uint64_t kNoUnit = 1000;  // a smaller number without a unit is probably not bytes
    if (*size < kNoUnit && arguments.shard_size.find_first_not_of("0123456789 ") == std::string::npos)
      refuse("--shard-size " + arguments.shard_size + " means " + std::to_string(*size) +
             " bytes, about one file per sample; did you mean " + arguments.shard_size + "MB?");
    write_options.shard_size = *size;
    if (write_options.shards > 0) refuse("expected --shards or --shard-size, got both");
  }
  if (const auto chosen = choose_writer(arguments.target, write_options.format, write_options.options);
      !chosen.ok())
    refuse(chosen.status());
  HEADRACE_ASSIGN(const SourcePtr source, open_data(arguments.input));
  const int image = find_image_field(source, *file_store());
  HEADRACE_ASSIGN(const Dataset data, dataset_of(source, arguments, image));
  write_options.check_images =
      write_options.drop_broken && image >= 0 && arguments.max_side == 0 && arguments.quality == 0;
  Result<WriteReport> report = internal_error("");
  {
    const auto size = (*data.node())->size;
    Showing showing(size.value_or(0));
    write_options.progress = [&](const WriteProgress& p) { return showing.show(p); };
    report = write(data, arguments.target, write_options);
  }
  HEADRACE_TRY(report.status());
  IndexedPoints indexed;
  if (arguments.index) {
    HEADRACE_ASSIGN(indexed, index_of(*report, arguments.target));
  }
  const double seconds = seconds_since(begin);
  if (arguments.json) {
    fmt::print("{}\n", json_of(*report, arguments, seconds, *source).dump(1));
    return kOk;
  }
  print(*report, arguments, seconds, *source);
  if (indexed.files > 0)
    say("{} with entropy points: {} in {}\n", plural(indexed.files, "JPEG file"),
        size_text(static_cast<double>(indexed.bytes)), indexed.path);
  return kOk;
}

void add_changes(CLI::App& command, ConvertArguments& arguments) {
  command.add_option("--shuffle", arguments.shuffle, "Shuffle the samples with this seed")
      ->option_text("SEED");
  add_count(command, "--take", arguments.take, "Only the first N samples, after shuffling");
  command
      .add_option("--where", arguments.where,
                  "Only samples that meet this condition, such as label<10 or label==3; may be repeated")
      ->option_text("FIELD==NUMBER")
      ->allow_extra_args(false);
  command
      .add_option("--fields", arguments.fields,
                  "Only these fields, in this order, such as jpg,cls; image=jpg,label=cls renames them")
      ->option_text("NAME,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_count(command, "--max-side", arguments.max_side,
            "Shrink images whose longer side has more than N pixels; they are re-encoded as JPEG, with loss",
            65500);
  command
      .add_option(
          "--unscaled", arguments.unscaled,
          "Fields that --max-side may copy although their names are those of boxes, masks or sizes, because "
          "they do not count pixels")
      ->option_text("NAME,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_count(command, "--quality", arguments.quality,
            "Re-encode images as JPEG of this quality, 4:2:0; 90 if only --max-side is given", 100);
  command.add_flag("--drop-broken,--quarantine", arguments.write.drop_broken,
                   "Drop samples that cannot be read or decoded, and list them in quarantine.json");
}

void add_target(CLI::App& command, ConvertArguments& arguments) {
  command.add_option("SRC", arguments.input.path, "Data: a file, a folder or a glob pattern in quotes")
      ->required()
      ->option_text(" ");
  command.add_option("DST", arguments.target, "The new file, or a folder for the shards")
      ->required()
      ->option_text(" ");
  command
      .add_option("--format", arguments.write.format, "Format of DST; by default determined by its extension")
      ->option_text("NAME");
  command
      .add_option("--option", arguments.options,
                  "An option of that format, such as compression=gzip; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--source-format", arguments.input.format,
                  "Format of SRC; by default detected from its content")
      ->option_text("NAME");
  command.add_option("--source-option", arguments.input.options, "An option of that format; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  add_skip_unreadable(command, arguments.input);
  command
      .add_option("--shard-size", arguments.shard_size,
                  "Start a new file after this many bytes of samples, such as 150MB")
      ->option_text("SIZE");
  add_count(command, "--shards", arguments.write.shards, "Number of files, with equal numbers of samples");
}

}  // namespace

void add_convert(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "convert", "Write data in another format: all or nothing; an interrupted run can be resumed");
  auto arguments = std::make_shared<ConvertArguments>();
  add_target(*command, *arguments);
  add_changes(*command, *arguments);
  command->add_flag("--overwrite", arguments->write.overwrite,
                    "Replace a data set that Headrace wrote; anything else at DST is an error");
  command->add_flag("--verify", arguments->write.verify,
                    "Read everything back and compare each sample before DST appears");
  add_workers(*command, arguments->write.loader.workers);
  command->add_flag("--index", arguments->index,
                    "Also index the records and JPEG rows of the new data, next to it: see `headrace index`");
  command->add_flag(
      "--json", arguments->json,
      "Print JSON: {\"path\", \"format\", \"samples\", \"bytes\", \"shards\", "
      "\"reused_shards\", \"broken\", \"seconds\"}, and if there are any "
      "\"left_out_columns\", \"missing\", \"differs\", \"empty\", \"plain_numbers\", \"hints\"");
  command->footer(
      "The output is in DST.partial until everything is written; after an interruption, the same command "
      "resumes there.\nDST/headrace.json, or DST.headrace.json next to a single file, describes what was "
      "written.\n\n"
      "examples:\n  headrace convert imagenet/train train.tfrecord\n"
      "  headrace convert imagenet/train train --format webdataset --shard-size 150MB --shuffle 17 --verify\n"
      "  headrace convert imagenet/train small --format tfrecord --shards 64 --max-side 500 --quality 85");
  command->callback([arguments, &run] { run = [arguments] { return convert(*arguments); }; });
}

}  // namespace headrace::cli
