#include "headrace/formats/writer.h"

namespace headrace {
namespace {

WriterRegistry& registry() {
  static WriterRegistry all;
  return all;
}

}  // namespace

const WriterRegistry& writers() { return registry(); }

const WriterInfo* find_writer(std::string_view name) {
  const auto it = registry().find(name);
  return it == registry().end() ? nullptr : &it->second;
}

WriterRegistration::WriterRegistration(WriterInfo info) {
  std::string name = info.name;
  registry().emplace(std::move(name), std::move(info));
}

}  // namespace headrace
