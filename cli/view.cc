// headrace view: what the model would see, as a contact sheet and a page.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/gallery_page.h"
#include "cli/input.h"
#include "cli/picture.h"
#include "cli/terminal.h"

namespace headrace::cli {
namespace {

constexpr int64_t kTile = 224, kColumns = 8;

struct Arguments {
  InputArguments input;
  std::string out = "headrace-view.png";
  uint64_t count = 32, batch_size = 16;
};

std::vector<double> numbers(const Value* list) {
  std::vector<double> out;
  if (!list) return out;
  for (const Value& v : list->list() ? *list->list() : Value::List{*list})
    if (v.real() || v.integer()) out.push_back(v.real() ? *v.real() : static_cast<double>(*v.integer()));
  return out;
}

// The last normalize on the way to the pictures, if there is one.
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
      // Light of 0 to 1 came in where pixels were floats already.
      out.scale = (!scale.empty() ? scale[0] : integer ? 1.0 / 255 : 1.0) * (integer ? 1 : 1.0 / 255);
      return out;
    }
  for (const NodePtr& input : node.inputs)
    if (auto found = find_normalization(*input)) return found;
  return std::nullopt;
}

bool has_rows(const Node& node) {
  if (node.as<Batch>()) return true;
  return !node.as<Read>() && !node.as<Unbatch>() && has_rows(*node.input());
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

Result<size_t> picture_field(const Schema& schema, bool batched) {
  for (size_t i = 0; i < schema.size(); ++i)
    if (is_picture(row_spec(schema.specs[i], batched))) return i;
  return invalid(
      "view: wants a field that is a picture, numbers of (height, width, channels) or (channels, height, "
      "width); got " +
      schema.text());
}

Result<std::vector<Tile>> make_tiles(const Opened& opened, uint64_t count) {
  const Dataset& dataset = opened.plan.dataset;
  const Node& plan = **dataset.node();
  const bool batched = has_rows(plan);
  HEADRACE_ASSIGN(const size_t field, picture_field(plan.schema, batched));
  LoaderOptions options;
  options.seed = opened.plan.seed;
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, dataset.loader(options));
  const std::vector<std::string> classes = class_names(plan);
  const std::optional<Normalization> undo = find_normalization(plan);
  Progress progress("drawing", count);
  std::vector<Tile> tiles;
  Sample sample;
  while (tiles.size() < count) {
    HEADRACE_ASSIGN(const bool more, loader->next(sample));
    if (!more) break;
    const int64_t rows = batched ? sample.fields[field].shape[0] : 1;
    for (int64_t row = 0; row < rows && tiles.size() < count; ++row) {
      const View pixels = row_of(sample.fields[field], batched, row);
      tiles.push_back(
          {shrink(picture_of(pixels, undo), kTile), caption_of(plan.schema, sample, batched, row, classes)});
    }
    progress.show(tiles.size());
  }
  return tiles;
}

Status write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  return file ? Status() : Status(Code::io, "view: cannot write '" + path + "'");
}

Result<int> view(const Arguments& arguments) {
  HEADRACE_ASSIGN(const Opened opened,
                  open_pipeline(arguments.input, std::min(arguments.batch_size, arguments.count)));
  HEADRACE_ASSIGN(const std::vector<Tile> tiles, make_tiles(opened, arguments.count));
  if (tiles.empty()) return invalid("view: the pipeline gives no sample");
  std::vector<Picture> pictures;
  for (const Tile& tile : tiles) pictures.push_back(tile.picture);
  HEADRACE_ASSIGN(const std::string png, encode_png(contact_sheet(pictures, kColumns)));
  HEADRACE_ASSIGN(const std::string page, gallery_page(opened.title, tiles));
  const std::string page_path = std::filesystem::path(arguments.out).replace_extension(".html").string();
  HEADRACE_TRY(write_file(arguments.out, png));
  HEADRACE_TRY(write_file(page_path, page));
  fmt::print("{}: the first {} of epoch 0 of {}\n{}: the same with labels\n", arguments.out,
             plural(tiles.size(), "sample"), opened.title, page_path);
  return kOk;
}

}  // namespace

void add_view(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand(
      "view", "Draw what the model would see: a contact sheet (PNG) and a page with labels (HTML)");
  auto arguments = std::make_shared<Arguments>();
  add_input_arguments(*command, arguments->input, true);
  command
      ->add_option("--out", arguments->out,
                   "Where to write the sheet; the page goes beside it, ending in .html")
      ->option_text("FILE.png")
      ->capture_default_str()
      ->check([](const std::string& path) {
        return path.ends_with(".png") ? std::string() : "wants a name that ends in .png, got " + path;
      });
  add_count(*command, "--count", arguments->count, "How many samples", 1000);
  command->footer(
      "example:\n  headrace view imagenet/train --out sheet.png --count 64\n\n"
      "Normalisation is undone for display: mean and std are read off the pipeline.");
  command->callback([arguments, &run] { run = [arguments] { return view(*arguments); }; });
}

}  // namespace headrace::cli
