#include "headrace/formats/writer.h"

#include <algorithm>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

WriterRegistry& writer_registry() {
  static WriterRegistry all;
  return all;
}

std::string known_writers() {
  std::string out;
  for (const auto& [name, info] : writers())
    out += (out.empty() ? "" : ", ") + name + (info.ending.empty() ? "" : " (" + info.ending + ")");
  return out;
}

Status check_options(const WriterInfo& info, const Value& options) {
  if (!options.object())
    return invalid({.expected = "an object", .got = options.dump()}).in_option("options");
  for (const auto& [key, value] : *options.object()) {
    const auto named = [&key = key](const OptionInfo& option) { return option.name == key; };
    if (std::ranges::any_of(info.options, named)) continue;
    return invalid(info.name + ": the writer " + no_option(key, info.options));
  }
  return {};
}

}  // namespace

Status check_member_name(std::string_view name) {
  const auto refuse = [&](std::string_view what) {
    return invalid({.expected = "a name that stays inside what is written",
                    .got = in_quotes(name) + ", which " + std::string(what),
                    .fix = "change the names with map()"});
  };
  const auto is_letter = [](char c) { return lower_case(c) >= 'a' && lower_case(c) <= 'z'; };
  if (name.starts_with('/') || name.starts_with('\\')) return refuse("is absolute");
  if (name.size() > 1 && is_letter(name[0]) && name[1] == ':') return refuse("begins with a drive letter");
  if (name.find('\0') != std::string_view::npos) return refuse("contains a NUL");
  for (size_t part = 0; part <= name.size();) {
    const size_t end = std::min(name.find_first_of("/\\", part), name.size());
    if (name.substr(part, end - part) == "..") return refuse("leads out of it");
    part = end + 1;
  }
  return {};
}

const WriterRegistry& writers() { return writer_registry(); }

const WriterInfo* find_writer(std::string_view name) {
  const auto it = writer_registry().find(name);
  return it == writer_registry().end() ? nullptr : &it->second;
}

std::string companion_of(const std::string& shard, const WriterInfo& format, const std::string& ending) {
  const size_t cut = shard.ends_with(format.ending) ? format.ending.size() : 0;
  return shard.substr(0, shard.size() - cut) + ending;
}

WriterRegistration::WriterRegistration(WriterInfo info) {
  std::string name = info.name;
  writer_registry().emplace(std::move(name), std::move(info));
}

Result<ChosenWriter> choose_writer(const std::string& target, const std::string& format,
                                   const Value& options) {
  ChosenWriter out;
  std::string name = target;
  while (name.ends_with('/')) name.pop_back();
  Value implied{Value::Object()};
  size_t longest = 0;
  for (const auto& [key, info] : writers()) {
    std::vector<std::pair<std::string, Value>> endings = info.other_endings;
    if (!info.ending.empty()) endings.emplace_back(info.ending, Value());
    for (const auto& [ending, meant] : endings) {
      if (!name.ends_with(ending) || ending.size() <= longest) continue;
      if (!format.empty() && key != format) continue;
      out.info = &info, longest = ending.size(), out.ending = ending;
      implied = meant.is_null() ? Value(Value::Object()) : meant;
    }
  }
  if (!format.empty() && !out.info) out.info = find_writer(format);
  if (!out.info)
    return invalid(format.empty()
                       ? "the ending of " + in_quotes(target) +
                             " names no format that can be written; set format= to one of " + known_writers()
                       : "no format named " + in_quotes(format) + " can be written; there are " +
                             known_writers());
  if (out.ending.empty()) out.ending = out.info->ending;
  out.options = std::move(implied);
  if (options.object())
    for (const auto& [key, value] : *options.object()) out.options.set(key, value);
  HEADRACE_TRY(check_options(*out.info, out.options));
  return out;
}

}  // namespace headrace
