// headrace view: what the model would see, as a contact sheet (PNG) and a page (HTML).
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/input/input.h"
#include "cli/look/on_error_counts.h"
#include "cli/output/gallery_page.h"
#include "cli/output/picture.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "cli/output/write_file.h"
#include "headrace/graph/node.h"

namespace headrace::cli {
namespace {

constexpr int64_t kTile = 224, kColumns = 8;

struct ViewArguments {
  InputArguments input;
  std::string out = "headrace-view.png";
  uint64_t count = 32, batch_size = 16;
  bool json = false;
};

struct Sheet {
  std::vector<Tile> tiles;
  OnErrorCounts broken;
  bool marked = false;  // tiles in place of broken samples have frames, and only those are counted
};

std::vector<double> numbers(const Value* list) {
  std::vector<double> out;
  if (!list) return out;
  for (const Value& v : list->list() ? *list->list() : Value::List{*list})
    if (v.real() || v.integer()) out.push_back(v.real() ? *v.real() : static_cast<double>(*v.integer()));
  return out;
}

// The last normalize before the pictures, if there is one.
std::optional<Normalization> find_normalization(const Node& node) {
  if (const auto* map = node.as<Map>())
    for (auto step = map->program.steps.rbegin(); step != map->program.steps.rend(); ++step) {
      if (step->op->name() != "normalize") continue;
      const Value params = step->op->params();
      Normalization out;
      const std::vector<double> mean = numbers(params.find("mean")), std = numbers(params.find("std")),
                                scale = numbers(params.find("scale"));
      if (!mean.empty()) out.mean = mean;
      if (!std.empty()) out.std = std;
      const int input = step->inputs[0];
      const bool integer = !is_float(map->program.specs[static_cast<size_t>(input)].dtype);
      // If pixels were floats already, they were in 0 to 1.
      out.scale = (!scale.empty() ? scale[0] : integer ? 1.0 / 255 : 1.0) * (integer ? 1 : 1.0 / 255);
      return out;
    }
  for (const NodePtr& input : node.inputs)
    if (auto found = find_normalization(*input)) return found;
  return std::nullopt;
}

bool has_rows(const Node& node) {
  if (node.as<Batch>() || node.as<GroupBy>() || node.as<Window>()) return true;
  return !node.inputs.empty() && !node.as<Unbatch>() && !node.as<Pack>() && has_rows(*node.input());
}

// Row `row` of a batched field, or the field itself.
View row_of(const Tensor& field, bool batched, int64_t row) {
  if (!batched) return field.view();
  if (field.is_ragged()) return (*field.rows)[static_cast<size_t>(row)].view();
  View out = field.view();
  out.shape = out.shape.without_front();
  out.data += static_cast<size_t>(row) * out.size_bytes();
  return out;
}

TensorSpec row_spec(TensorSpec spec, bool batched) {
  if (batched) spec.shape = spec.shape.without_front();
  return spec;
}

std::string caption_of(const Schema& schema, const Sample& sample, bool batched, int64_t row,
                       const std::vector<std::string>& classes) {
  const int field = schema.find("label");
  if (field < 0) return {};
  const View label = row_of(sample.fields[static_cast<size_t>(field)], batched, row);
  if (label.dtype != DType::i64 || label.shape.count() != 1) return {};
  const int64_t value = *label.as<int64_t>();
  if (value < 0 || static_cast<size_t>(value) >= classes.size()) return std::to_string(value);
  return fmt::format("{} ({})", classes[static_cast<size_t>(value)], value);
}

const Source* source_of(const Node& node, uint32_t ordinal) {
  if (const auto* read = node.as<Read>()) return read->ordinal == ordinal ? read->source.get() : nullptr;
  for (const NodePtr& input : node.inputs)
    if (const Source* found = source_of(*input, ordinal)) return found;
  return nullptr;
}

// Where the shown sample is stored; "" if no source has it.
std::string place_of(const Node& plan, const Sample& sample) {
  constexpr unsigned kIndexBits = 48;
  const uint64_t index = sample.shown_id & ((uint64_t{1} << kIndexBits) - 1);
  const Source* source = source_of(plan, static_cast<uint32_t>(sample.shown_id >> kIndexBits));
  return source && index < source->size() ? source->where(index).text() : std::string();
}

// Strip the folder that all of them have in common.
void shorten_places(std::vector<Tile>& tiles) {
  if (tiles.empty()) return;
  std::string_view common = tiles[0].place;
  for (const Tile& tile : tiles) {
    const auto end = std::ranges::mismatch(common, tile.place).in1;
    common = common.substr(0, static_cast<size_t>(end - common.begin()));
  }
  const size_t length = common.rfind('/') + 1;  // 0 when there is none
  for (Tile& tile : tiles) tile.place.erase(0, length);
}

Result<size_t> picture_field(const Schema& schema, bool batched) {
  for (size_t i = 0; i < schema.size(); ++i)
    if (is_picture(row_spec(schema.specs[i], batched))) return i;
  return invalid({.expected = "a field that is a picture, numbers of shape (height, width, channels) or "
                              "(channels, height, width)",
                  .got = schema.text()})
      .in_op("view");
}

// The plan without its last batch(): only single samples record which sample they replaced. Null if the plan
// does not end in batch(), or ends in batches of batches.
NodePtr rows_of(const NodePtr& plan) {
  return plan->as<Batch>() && !has_rows(*plan->input()) ? plan->input() : nullptr;
}

// How many of the samples are in batches: drop_last leaves some out.
uint64_t shown_by(const Node& plan, uint64_t count) {
  const auto* batch = plan.as<Batch>();
  if (!batch || !batch->drop_last || !plan.size || *plan.size > count) return count;
  return std::min(count, *plan.size * batch->size);
}

bool is_replaced(const Sample& sample) {
  return sample.shown_id != (sample.id.index | static_cast<uint64_t>(sample.id.read) << 48);
}

void mark_replaced(Tile& tile) {
  draw_frame(tile.picture);
  tile.caption += tile.caption.empty() ? "replaces a broken sample" : ", replaces a broken sample";
}

Result<Sheet> make_sheet(const Opened& opened, uint64_t count) {
  HEADRACE_ASSIGN(const NodePtr whole, opened.plan.dataset.node());
  const NodePtr rows_alone = rows_of(whole);
  const Node& plan = rows_alone ? *rows_alone : *whole;
  const Dataset dataset{Result<NodePtr>(rows_alone ? rows_alone : whole)};
  const bool batched = has_rows(plan);
  count = shown_by(*whole, count);
  HEADRACE_ASSIGN(const size_t field, picture_field(plan.schema, batched));
  LoaderOptions options;
  options.seed = opened.plan.seed;
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, dataset.loader(options));
  const std::vector<std::string> classes = class_names(plan);
  const std::optional<Normalization> undo = find_normalization(plan);
  Progress progress("drawing", count);
  Sheet out;
  std::vector<Tile>& tiles = out.tiles;
  Sample sample;
  while (tiles.size() < count) {
    HEADRACE_ASSIGN(const bool more, loader->next(sample));
    if (!more) break;
    const int64_t rows = batched ? sample.fields[field].shape[0] : 1;
    for (int64_t row = 0; row < rows && tiles.size() < count; ++row) {
      const View pixels = row_of(sample.fields[field], batched, row);
      Tile tile{shrink(picture_of(pixels, undo), kTile),
                caption_of(plan.schema, sample, batched, row, classes),
                batched ? std::string() : place_of(plan, sample)};
      if (tile.caption.empty() && tile.place.empty()) tile.caption = fmt::format("sample {}", tiles.size());
      if (!batched && is_replaced(sample)) mark_replaced(tile), ++out.broken.replaced;
      tiles.push_back(std::move(tile));
    }
    progress.show(tiles.size());
  }
  shorten_places(tiles);
  const auto counted = OnErrorCounts::from_report(loader->report());
  out.broken.skipped = counted.skipped;
  out.marked = !batched;
  if (batched) out.broken.replaced = counted.replaced;
  return out;
}

void print_text(const Sheet& sheet, const ViewArguments& arguments, const std::string& page_path,
                const std::string& title) {
  say("{}: the first {} of epoch 0 of {}\n{}: the same with labels\n", arguments.out,
      plural(sheet.tiles.size(), "sample"), title, page_path);
  if (sheet.broken.replaced > 0)
    say("{} replaced{}\n", plural(sheet.broken.replaced, "broken sample"),
        sheet.marked ? ", in red frames" : ", including those read ahead");
  if (sheet.broken.skipped > 0)
    say("{} skipped, including those read ahead\n", plural(sheet.broken.skipped, "broken sample"));
}

void print_json(const Sheet& sheet, const ViewArguments& arguments, const std::string& page_path) {
  Value out;
  out.set("sheet", arguments.out), out.set("page", page_path), out.set("samples", sheet.tiles.size());
  out.set("skipped", sheet.broken.skipped), out.set("replaced", sheet.broken.replaced);
  fmt::print("{}\n", out.dump());
}

Result<int> view(const ViewArguments& arguments) {
  HEADRACE_ASSIGN(const Opened opened,
                  open_pipeline(arguments.input, std::min(arguments.batch_size, arguments.count)));
  HEADRACE_ASSIGN(const Sheet sheet, make_sheet(opened, arguments.count));
  if (sheet.tiles.empty()) return invalid("view: the pipeline yields no samples");
  std::vector<Picture> pictures;
  for (const Tile& tile : sheet.tiles) pictures.push_back(tile.picture);
  HEADRACE_ASSIGN(const std::string png, encode_png(contact_sheet(pictures, kColumns)));
  HEADRACE_ASSIGN(const std::string page, gallery_page(opened.title, sheet.tiles));
  const std::string page_path = std::filesystem::path(arguments.out).replace_extension(".html").string();
  HEADRACE_TRY(write_file("view", arguments.out, png));
  HEADRACE_TRY(write_file("view", page_path, page));
  if (arguments.json)
    print_json(sheet, arguments, page_path);
  else
    print_text(sheet, arguments, page_path, opened.title);
  return kOk;
}

}  // namespace

void add_view(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "view", "Draw what the model would see: a contact sheet (PNG) and a page with labels (HTML)");
  auto arguments = std::make_shared<ViewArguments>();
  add_input_arguments(*command, arguments->input, true);
  command
      ->add_option("--out", arguments->out,
                   "Where to write the sheet; the page is written next to it, with the extension .html")
      ->option_text("FILE.png")
      ->capture_default_str()
      ->check([](const std::string& path) {
        return path.ends_with(".png") ? std::string() : "expected a name that ends in .png, got " + path;
      });
  add_count(*command, "--count", arguments->count, "Number of samples", 1000);
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(
      "example:\n  headrace view imagenet/train --out sheet.png --count 64\n\n"
      "Normalisation is undone for display: mean and std are taken from the pipeline.\n"
      "A red frame marks a sample that replaces a broken one (on_error(\"replace\")).");
  command->callback([arguments, &run] { run = [arguments] { return view(*arguments); }; });
}

}  // namespace headrace::cli
