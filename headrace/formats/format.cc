#include "headrace/formats/format.h"

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

class ParseFile final : public Opening<SourcePtr> {
 public:
  explicit ParseFile(std::function<Result<SourcePtr>(const BufferPtr&)> parse) : parse_(std::move(parse)) {}
  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<SourcePtr>(std::vector<Extent>{Extent{}});
    HEADRACE_ASSIGN(SourcePtr source, parse_(bytes[0]));
    return Step<SourcePtr>(std::move(source));
  }

 private:
  std::function<Result<SourcePtr>(const BufferPtr&)> parse_;
};

}  // namespace

SourceOpening ready(SourcePtr source) {
  return {std::make_unique<Ready<SourcePtr>>(std::move(source)), [](uint64_t) { return std::string(); }};
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
  if (const auto* options = request.options.object())
    for (const auto& [name, value] : *options) out.set(name, value);
  return out;
}

std::unique_ptr<Opening<BlockPtr>> ready(BlockPtr block) {
  return std::make_unique<Ready<BlockPtr>>(std::move(block));
}

SourceOpening parse_file(std::string path, std::function<Result<SourcePtr>(const BufferPtr&)> parse) {
  return {std::make_unique<ParseFile>(std::move(parse)), [path = std::move(path)](uint64_t) { return path; }};
}

const FormatRegistry& formats() { return format_registry(); }

const FormatInfo* find_format(std::string_view name) {
  const auto it = format_registry().find(name);
  return it == format_registry().end() ? nullptr : &it->second;
}

FormatRegistration::FormatRegistration(FormatInfo info) {
  std::string name = info.name;
  format_registry().emplace(std::move(name), std::move(info));
}

}  // namespace headrace
