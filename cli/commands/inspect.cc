// headrace inspect: what data is at a path, from its listing and the headers of some of its samples.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <numeric>

#include "cli/commands.h"
#include "cli/input/hints.h"
#include "cli/input/left_out.h"
#include "cli/look/survey.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/opening/readable.h"
#include "headrace/io/skipping_store.h"
#include "headrace/run/measure/machine.h"

namespace headrace::cli {
namespace {

constexpr size_t kShownLabels = 20, kShownDimensions = 5, kShownBroken = 10;

struct InspectArguments {
  InputArguments input;
  uint64_t samples = 1000;
  bool all = false, json = false, count = false;
};

// One line of output: a name in the left column, then a text.
template <class... T>
void line(std::string_view name, fmt::format_string<Said<T>...> format, const T&... values) {
  say("  {:<10}  {}\n", name, Lines{said_as<T...>(format, values...)});
}

template <class T> T quantile(const std::vector<T>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

template <class T> double mean(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<size_t>(1, values.size()));
}

template <class Map> auto by_count(const Map& map) {
  std::vector<std::pair<uint64_t, typename Map::key_type>> out;
  for (const auto& [key, count] : map) out.emplace_back(count, key);
  std::ranges::stable_sort(out, std::ranges::greater{}, [](const auto& entry) { return entry.first; });
  return out;
}

std::string class_text(const std::vector<std::string>& classes, int64_t label) {
  const bool named = label >= 0 && static_cast<size_t>(label) < classes.size();
  return named ? classes[static_cast<size_t>(label)] : std::string();
}

void print_images(const Survey& found) {
  std::string kinds;
  for (const auto& [count, kind] : by_count(found.kinds))
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : "; ", count_text(count), kind);
  line("images", "{}{}", kinds,
       found.turned ? fmt::format("; {} rotated or mirrored by EXIF", count_text(found.turned)) : "");
  line("height", "{} to {}, median {}", found.heights.front(), found.heights.back(),
       quantile(found.heights, 0.5));
  line("width", "{} to {}, median {}", found.widths.front(), found.widths.back(),
       quantile(found.widths, 0.5));
  std::string common;
  const auto sorted = by_count(found.dimensions);
  for (size_t i = 0; i < std::min(sorted.size(), kShownDimensions); ++i)
    common += fmt::format("{}{} x {} ({})", i == 0 ? "" : ", ", sorted[i].second.first,
                          sorted[i].second.second, count_text(sorted[i].first));
  line("commonest", "{}{}   height x width (images)", common, sorted.size() > kShownDimensions ? ", …" : "");
}

void print_labels(const Survey& found, const std::vector<std::string>& classes) {
  const size_t known = std::max(classes.size(), found.labels.size());
  line("labels", "{}, from {} to {}{}", plural(found.labels.size(), "different value"),
       found.labels.begin()->first, found.labels.rbegin()->first,
       known > found.labels.size()
           ? fmt::format("; {} names",
                         classes.size() == 1 ? "1 class has" : count_text(classes.size()) + " classes have")
           : "");
  auto rows = by_count(found.labels);
  const uint64_t most = rows[0].first;
  if (rows.size() > kShownLabels && rows.back().first == most)
    return line("", "each occurs {}", plural(most, "time"));
  if (rows.size() <= kShownLabels) std::ranges::sort(rows, {}, [](const auto& row) { return row.second; });
  for (size_t i = 0; i < std::min(rows.size(), kShownLabels); ++i) {
    const auto& [count, label] = rows[i];
    say("  {:>10}  {:>7} {:<21}{}\n", label, count_text(count),
        bar(static_cast<double>(count) / static_cast<double>(most), 20), class_text(classes, label));
  }
  if (rows.size() > kShownLabels)
    say("  {:>10}  the {} most frequent; the rarest occurs {}\n", "…", kShownLabels,
        plural(rows.back().first, "time"));
}

// The features of the Examples, and the call that parses them.
void print_features(const FeatureSurvey& features, const std::string& field) {
  size_t widest = 0;
  const auto rows = features.rows();
  for (const FeatureSurvey::Row& row : rows) widest = std::max(widest, printable(row.name).size());
  for (size_t i = 0; i < rows.size(); ++i)
    line(i == 0 ? "features" : "", "{:<{}}  {:<16} {}", printable(rows[i].name), widest, rows[i].spec,
         rows[i].note);
  if (features.others() > 0)
    line("", "{} not in tf.train.Example format",
         plural(features.others(), "record") + (features.others() == 1 ? " is" : " are"));
  std::string code = features.python(field);
  for (size_t at = 0; (at = code.find('\n', at)) != std::string::npos; at += 15) code.insert(at + 1, 14, ' ');
  line("parse", "{}", Lines{code});
}

void print_broken(const Survey& found, const Source& source, const std::string& path) {
  if (found.broken.empty())
    return line("broken", "none, judging by headers; `headrace verify {}` decodes everything", path);
  line("broken", "{} of {}", count_text(found.broken.size()), count_text(found.looked));
  const std::vector<std::string> lines = broken_lines(found.broken, source, 1);
  for (size_t i = 0; i < std::min(lines.size(), kShownBroken); ++i) say("    {}\n", lines[i]);
  if (lines.size() > kShownBroken) say("    … `headrace verify --json {}` lists all of them\n", path);
}

std::string format_of(const Source& source) {
  const auto name = source.describe().get_text("format");
  return name.ok() ? *name : "unknown";
}

void print_problems(const Source& source, const std::string& path) {
  if (const std::string left_out = left_out_text(source); !left_out.empty()) line("left out", "{}", left_out);
  const std::string missing = told_of(source, "missing");
  if (!missing.empty()) line("missing", "{}", missing);
  for (const std::string& note : notes_of(source))
    if (note != missing) line("note", "{}", as_typed(note));
  if (const std::string empty = told_of(source, "empty"); !empty.empty()) line("empty", "{}", empty);
  const Value::List problems = problems_of(source);
  if (problems.empty()) return;
  line("left out", "{}", problems_text(problems));
  for (size_t i = 0; i < std::min(problems.size(), kShownBroken); ++i)
    say("    {}: {}\n", join_path(path, *problems[i].get_text("path")), *problems[i].get_text("reason"));
}

std::string type_text(const Value& types, const std::string& name) {
  const Value* type = types.find(name);
  return type && type->text() ? "   " + *type->text() : "";
}

// Printed after a field's type: what its bytes or numbers are.
std::string field_note(const SampleReader& reader, const Survey& found, int field) {
  if (field == reader.image_field()) return "   an encoded image";
  if (field == reader.example_field())
    return found.features.has_lists() ? "   a tf.train.SequenceExample" : "   a tf.train.Example";
  if (field == reader.list_field()) return "   an ExampleListWithContext";
  const Source& source = reader.source();
  return type_text(types_in(source), source.schema().names[static_cast<size_t>(field)]);
}

void print_text(const SampleReader& reader, const Survey& found, const std::string& path,
                const std::vector<std::string>& hints) {
  const Source& source = reader.source();
  const std::string name = format_of(source);
  const FormatInfo* format = find_format(name);
  const Schema& schema = source.schema();
  say("{}\n", path);
  line("format", "{}{}{}", name, format ? ": " : "", format ? format->doc : "");
  const double total = mean(found.bytes) * static_cast<double>(found.size);
  const bool all = found.looked == found.size;
  line("samples", "{}{}", count_text(found.size),
       found.bytes.empty() ? "" : fmt::format(", {}{}", all ? "" : "about ", size_text(total)));
  for (size_t i = 0; i < schema.size(); ++i)
    line(i == 0 ? "fields" : "", "{:<12} {}{}", schema.names[i], schema.specs[i].text(),
         field_note(reader, found, static_cast<int>(i)));
  print_problems(source, path);
  if (!all)
    line("looked at", "{} samples, evenly spread (--samples, --all); the rest of this output is about these",
         count_text(found.looked));
  if (!found.bytes.empty())
    line(!reader.has_images() ? "sizes" : "file sizes", "{} to {}, median {}, mean {}",
         size_text(static_cast<double>(found.bytes.front())),
         size_text(static_cast<double>(found.bytes.back())),
         size_text(static_cast<double>(quantile(found.bytes, 0.5))), size_text(mean(found.bytes)));
  if (!found.heights.empty()) print_images(found);
  if (!found.features.empty())
    print_features(found.features, schema.names[static_cast<size_t>(reader.example_field())]);
  else if (reader.list_field() >= 0)
    line("parse",
         "no operator parses an ExampleListWithContext, a list of tf.train.Examples; it is read as "
         "bytes, for a Python function to parse");
  if (!found.labels.empty()) print_labels(found, class_names(source));
  print_broken(found, source, path);
  for (const std::string& hint : hints) line("hint", "{}", hint);
}

template <class T> Value distribution(const std::vector<T>& sorted) {
  Value out;
  if (sorted.empty()) return out;
  out.set("min", sorted.front()), out.set("p05", quantile(sorted, 0.05)),
      out.set("median", quantile(sorted, 0.5));
  out.set("p95", quantile(sorted, 0.95)), out.set("max", sorted.back()), out.set("mean", mean(sorted));
  return out;
}

Value label_values(const Survey& found, const std::vector<std::string>& classes) {
  Value::List out;
  for (const auto& [label, count] : found.labels) {
    Value entry;
    entry.set("label", label), entry.set("count", count);
    if (const std::string name = class_text(classes, label); !name.empty()) entry.set("class", name);
    out.push_back(std::move(entry));
  }
  return out;
}

Value json_of(const SampleReader& reader, const Survey& found, const std::string& path,
              const std::vector<std::string>& hints) {
  const Source& source = reader.source();
  Value out, fields{Value::Object()}, images{Value::Object()}, kinds{Value::Object()};
  out.set("path", path), out.set("format", format_of(source)), out.set("samples", found.size),
      out.set("looked_at", found.looked);
  for (size_t i = 0; i < source.schema().size(); ++i)
    fields.set(source.schema().names[i], source.schema().specs[i].text());
  out.set("fields", std::move(fields)), out.set("bytes", distribution(found.bytes));
  for (const auto& [kind, count] : found.kinds) kinds.set(kind, count);
  images.set("kinds", std::move(kinds)), images.set("height", distribution(found.heights));
  images.set("width", distribution(found.widths)), images.set("turned", found.turned);
  if (reader.has_images()) out.set("images", std::move(images));
  set_told(source, out);
  if (!found.labels.empty()) out.set("labels", label_values(found, class_names(source)));
  if (!found.features.empty())
    out.set("examples",
            found.features.json(source.schema().names[static_cast<size_t>(reader.example_field())]));
  else if (reader.list_field() >= 0)
    out.set("example_lists",
            Value::Object{{"field", source.schema().names[static_cast<size_t>(reader.list_field())]},
                          {"operator", Value()}});
  out.set("broken", broken_values(found.broken));
  out.set("metadata", source.metadata());
  out.set("hints", Value::List(hints.begin(), hints.end()));
  return out;
}

// What `split` chooses from, if a user has to choose.
std::vector<std::string> splits_to_choose(const InputArguments& input) {
  const Value options = options_value(input.options);
  if (options.find("split")) return {};
  SkippingStore skipping(*file_store());
  const Value* skips = options.find(kSkipUnreadable);
  Store& store = skips && *skips == Value(true) ? static_cast<Store&>(skipping) : *file_store();
  auto names = list_splits(store, input.path, input.format);
  return names.ok() && names->size() > 1 ? *std::move(names) : std::vector<std::string>();
}

// One line a split, instead of a description of all of them as one. The error of the first if none opens.
Status show_splits(const InputArguments& input, const std::vector<std::string>& names, bool json) {
  Value out, splits{Value::Object()};
  std::string lines;
  Status wrong;
  size_t opened = 0;
  for (const std::string& name : names) {
    InputArguments one = input;
    one.options.push_back("split=" + Value(name).dump());
    const auto source = open_data(one);
    Value entry;
    if (source.ok()) {
      ++opened;
      entry.set("format", format_of(**source)), entry.set("samples", (*source)->size());
      entry.set("fields", (*source)->schema().text());
    } else {
      if (wrong.ok()) wrong = source.status();
      entry.set("error", source.status().text());
    }
    lines +=
        fmt::format("  {:>10}  {}\n", printable(name),
                    source.ok() ? fmt::format("{}, {}, {}", format_of(**source),
                                              plural((*source)->size(), "sample"), (*source)->schema().text())
                                : printable(source.status().text()));
    splits.set(name, std::move(entry));
  }
  if (opened == 0) return wrong;
  out.set("path", input.path), out.set("splits", std::move(splits));
  if (json) {
    fmt::print("{}\n", out.dump(1));
    return {};
  }
  say("{}\n", input.path);
  line("splits", "{}", count_text(names.size()));
  say("{}", Lines{lines});
  line("hint", "--option split={} reads one of them, --option split=all reads all as one", names[0]);
  return {};
}

// Of a saved pipeline, whose length may depend on its data, or of data.
Result<int> count_elements_of(const InspectArguments& arguments) {
  HEADRACE_ASSIGN(const Opened opened, open_pipeline(arguments.input, 1));
  LoaderOptions options;
  options.seed = opened.plan.seed;
  HEADRACE_ASSIGN(const uint64_t elements, headrace::count(opened.plan.dataset, options));
  if (arguments.json)
    fmt::print("{}\n", Value(Value::Object{{"path", arguments.input.path}, {"count", elements}}).dump(1));
  else
    say("{}: {} in an epoch\n", arguments.input.path, plural(elements, "element"));
  return kOk;
}

Result<int> inspect(const InspectArguments& arguments) {
  if (arguments.count) return count_elements_of(arguments);
  auto opened = open_data(arguments.input);
  if (!opened.ok()) {
    const std::vector<std::string> splits = splits_to_choose(arguments.input);
    if (splits.empty()) return opened.status();
    HEADRACE_TRY(show_splits(arguments.input, splits, arguments.json));
    return kOk;
  }
  const SampleReader reader(*std::move(opened));
  const uint64_t count = arguments.all ? std::numeric_limits<uint64_t>::max() : arguments.samples;
  const Survey found = survey(reader, count, usable_cores());
  const std::vector<std::string> hints = hints_for(reader.source(), arguments.input.path, *file_store());
  if (arguments.json)
    fmt::print("{}\n", json_of(reader, found, arguments.input.path, hints).dump(1));
  else
    print_text(reader, found, arguments.input.path, hints);
  return kOk;
}

}  // namespace

void add_inspect(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "inspect", "Describe the data at a path: format, samples, fields, labels, sizes, damage");
  auto arguments = std::make_shared<InspectArguments>();
  add_input_arguments(*command, arguments->input, true);
  add_count(*command, "--samples", arguments->samples,
            "Number of samples to examine, evenly spread; only their headers are read");
  command->add_flag("--all", arguments->all, "Examine every sample");
  command->add_flag("--count", arguments->count,
                    "Only count the elements of an epoch, of a saved pipeline too");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(
      "examples:\n  headrace inspect imagenet/train\n  headrace inspect photos --format images --all\n"
      "  headrace inspect train_map.json --option root=imagenet\n  headrace inspect pipeline.json --count");
  command->callback([arguments, &run] { run = [arguments] { return inspect(*arguments); }; });
}

}  // namespace headrace::cli
