#include "headrace/formats/open.h"

#include <algorithm>

#include "headrace/formats/endings.h"
#include "headrace/formats/remembered_listing.h"

namespace headrace {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string known_formats() {
  std::string out;
  for (const auto& [name, info] : formats())
    if (info.open) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

Result<Probe> probe(Store& store, const std::string& path) {
  Probe out;
  out.path = path;
  HEADRACE_ASSIGN(out.info, store.info(path));
  if (out.info.is_directory) {
    HEADRACE_ASSIGN(out.listing, remembered_listing(store, path));
    return out;
  }
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store.open(path));
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  HEADRACE_ASSIGN(out.head, read_bytes(*file, 0, std::min(size, kProbeBytes)));
  return out;
}

// What was looked at, for the message that nothing was recognised.
std::string seen(const Probe& probe) {
  if (probe.listing) {
    const Names& files = probe.listing->files;
    std::string out = "a folder of " + std::to_string(files.size()) + " files";
    for (size_t i = 0; i < std::min<size_t>(files.size(), 3); ++i)
      out += (i == 0 ? ": " : ", ") + quoted(files[i]) + (i == 2 && files.size() > 3 ? ", …" : "");
    Endings endings;
    for (size_t i = 0; i < files.size(); ++i) endings.add(files[i]);
    return files.empty() ? out : out + "; endings " + endings_text(endings.value());
  }
  std::string out = "a file of " + std::to_string(probe.info.size) + " bytes";
  constexpr std::string_view digits = "0123456789abcdef";
  const std::string_view head = probe.text().substr(0, 8);
  if (!head.empty()) out += " that begins with";
  for (const char c : head) {
    out += ' ';
    out += digits[static_cast<uint8_t>(c) >> 4];
    out += digits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

Result<const FormatInfo*> recognise(const Probe& probe) {
  const FormatInfo* best = nullptr;
  int score = 0;
  for (const auto& [name, info] : formats())
    if (const int s = info.recognise ? info.recognise(probe) : 0; s > score) best = &info, score = s;
  if (best) return best;
  return invalid("read: wants data of a known format, got " + quoted(probe.path) + ", " + seen(probe) +
                 "; name one with format=: " + known_formats());
}

Status check_options(const FormatInfo& info, const Value& options) {
  if (options.is_null()) return {};
  if (!options.object()) return invalid("options want an object, got " + options.dump());
  for (const auto& [key, value] : *options.object()) {
    const auto named = [&key = key](const OptionInfo& option) { return option.name == key; };
    if (std::any_of(info.options.begin(), info.options.end(), named)) continue;
    std::string known;
    for (const OptionInfo& option : info.options) known += (known.empty() ? "" : ", ") + option.name;
    return invalid("has no option '" + key + "'" + (known.empty() ? ", it has none" : "; it has " + known));
  }
  return {};
}

Result<SourcePtr> open_as(const FormatInfo& info, OpenRequest request, Store& store) {
  HEADRACE_TRY(check_options(info, request.options));
  const std::string& path = request.path().path;
  if (info.places) {
    HEADRACE_ASSIGN(const std::vector<std::string> places, info.places(path, request.options));
    for (const std::string& place : places) {
      HEADRACE_ASSIGN(Probe further, probe(store, place));
      request.probes.push_back(std::move(further));
    }
  }
  HEADRACE_ASSIGN(SourceOpening opening, info.open(request));
  return drive(*opening.steps, opening.files, store);
}

}  // namespace

Result<SourcePtr> open_source(Store& store, const std::string& path, std::string_view format,
                              const Value& options) {
  const FormatInfo* info = nullptr;
  if (!format.empty()) {
    info = find_format(format);
    if (!info) return invalid("read: no format named " + quoted(format) + "; there are " + known_formats());
    if (!info->open) return invalid("read: " + info->name + " is made, not read from a path");
  }
  auto looked = probe(store, path);
  if (!looked.ok()) return looked.status().before("read: ");
  OpenRequest request;
  request.probes.push_back(*std::move(looked));
  request.options = options;
  request.recognised = !info;
  if (!info) {
    HEADRACE_ASSIGN(info, recognise(request.path()));
  }
  auto source = open_as(*info, std::move(request), store);
  if (!source.ok()) return source.status().before(info->name + ": " + quoted(path) + ": ");
  return source;
}

Result<SourcePtr> open_described(Store& store, const Value& description) {
  HEADRACE_ASSIGN(const std::string format, description.get_text("format"));
  Value options{Value::Object()};
  for (const auto& [key, value] : *description.object())
    if (key != "format" && key != "path") options.set(key, value);
  if (const FormatInfo* info = find_format(format); info && info->make) {
    HEADRACE_TRY(check_options(*info, options).before(format + ": "));
    auto made = info->make(options);
    if (!made.ok()) return made.status().before(format + ": ");
    return made;
  }
  HEADRACE_ASSIGN(const std::string path, description.get_text("path"));
  return open_source(store, path, format, options);
}

Result<std::vector<BufferPtr>> read_extents(std::span<const Extent> extents, const FilePaths& files,
                                            Store& store) {
  std::vector<BufferPtr> out;
  std::unique_ptr<OpenFile> file;
  uint64_t opened = 0;
  for (const Extent& extent : extents) {
    const auto name = [&] { return quoted(files(extent.file)) + ": "; };
    if (!file || opened != extent.file) {
      HEADRACE_ASSIGN(file, store.open(files(extent.file)));
      opened = extent.file;
    }
    auto bytes = read_bytes(*file, extent.offset, extent.length);
    if (!bytes.ok()) return bytes.status().before(name());
    out.push_back(*std::move(bytes));
  }
  return out;
}

Result<std::vector<Tensor>> read_sample(const Source& source, uint64_t index, Store& store) {
  const auto at = [&] { return ": " + source.where(index); };
  const Place place = source.place(index);
  auto block = drive_block(source, place.block, store);
  if (!block.ok()) return block.status().after(at());
  std::vector<Tensor> fields;
  if (Status status = (*block)->get(place.row, fields); !status.ok()) return std::move(status).after(at());
  return fields;
}

}  // namespace headrace
