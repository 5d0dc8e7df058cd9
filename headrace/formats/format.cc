#include "headrace/formats/format.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/damaged.h"

namespace headrace {
namespace {

FormatRegistry& format_registry() {
  static FormatRegistry all;
  return all;
}

template <class T> class Ready final : public Opening<T> {
 public:
  explicit Ready(T value) : value_(std::move(value)) {}
  Result<Step<T>> advance(std::span<const BufferPtr>) override { return Step<T>(value_); }

 private:
  T value_;
};

template <class T> class ParseFile final : public Opening<T> {
 public:
  explicit ParseFile(std::function<Result<T>(const BufferPtr&)> parse) : parse_(std::move(parse)) {}
  Result<Step<T>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<T>(std::vector<Extent>{Extent{}});
    HEADRACE_ASSIGN(T value, parse_(bytes[0]));
    return Step<T>(std::move(value));
  }

 private:
  std::function<Result<T>(const BufferPtr&)> parse_;
};

}  // namespace

SourceOpening ready(SourcePtr source) {
  return {std::make_unique<Ready<SourcePtr>>(std::move(source)), [](uint64_t) { return std::string(); }};
}

SplitsOpening known_splits(std::vector<std::string> names) {
  return {std::make_unique<Ready<std::vector<std::string>>>(std::move(names)),
          [](uint64_t) { return std::string(); }};
}

SplitsOpening splits_in(std::string path,
                        std::function<Result<std::vector<std::string>>(const BufferPtr&)> parse) {
  auto named = [path, parse = std::move(parse)](const BufferPtr& bytes) -> Result<std::vector<std::string>> {
    auto names = parse(bytes);
    if (!names.ok()) return names.status().in_file(path);
    return names;
  };
  return {std::make_unique<ParseFile<std::vector<std::string>>>(std::move(named)),
          [path = std::move(path)](uint64_t) { return path; }};
}

SourceOpening from_records(RecordOpening records) {
  records.finish = finish_with_damage(std::move(records.finish), records.files);
  SourceOpening out;
  out.records = std::move(records);
  return out;
}

Value describe_opening(std::string_view format, const OpenRequest& request) {
  Value out;
  out.set("format", format);
  out.set("path", request.given.is_null() ? Value(request.path().path) : request.given);
  if (!request.split.is_null()) out.set("split", request.split);
  if (const auto* options = request.options.object())
    for (const auto& [name, value] : *options) out.set(name, value);
  return out;
}

std::unique_ptr<Opening<BlockPtr>> ready(BlockPtr block) {
  return std::make_unique<Ready<BlockPtr>>(std::move(block));
}

SourceOpening parse_file(std::string path, std::function<Result<SourcePtr>(const BufferPtr&)> parse) {
  return {std::make_unique<ParseFile<SourcePtr>>(std::move(parse)),
          [path = std::move(path)](uint64_t) { return path; }};
}

const FormatRegistry& formats() { return format_registry(); }

const FormatInfo* find_format(std::string_view name) {
  const auto it = format_registry().find(name);
  return it == format_registry().end() ? nullptr : &it->second;
}

std::optional<OptionInfo> split_option(const FormatInfo& format) {
  const auto is_split = [](const OptionInfo& option) { return option.name == "split"; };
  if (!format.open || !(format.takes_files || format.may_hold_splits) ||
      std::ranges::any_of(format.options, is_split))
    return std::nullopt;
  return OptionInfo{"split", "str | Sequence[str] | None",
                    "Of a folder that holds several splits, the one to read, a list of them, or \"all\"; "
                    "`list_splits()` returns their names."};
}

FormatRegistration::FormatRegistration(FormatInfo info) {
  std::string name = info.name;
  format_registry().emplace(std::move(name), std::move(info));
}

}  // namespace headrace
