#include "headrace/codecs/codec.h"

#include <algorithm>
#include <utility>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

CodecRegistry& registry() {
  static CodecRegistry codecs;
  return codecs;
}

bool ends_like(std::string_view name, std::string_view ending) {
  if (name.size() < ending.size()) return false;
  const std::string_view last = name.substr(name.size() - ending.size());
  return std::equal(ending.begin(), ending.end(), last.begin(),
                    [](char a, char b) { return a == lower_case(b); });
}

}  // namespace

const CodecRegistry& image_codecs() { return registry(); }

bool has_image_ending(std::string_view name) {
  for (const auto& [_, codec] : registry())
    for (const std::string_view ending : codec.endings)
      if (ends_like(name, ending)) return true;
  return false;
}

CodecRegistration::CodecRegistration(ImageCodec codec) {
  const std::string_view name = codec.name;
  registry().emplace(name, std::move(codec));
}

}  // namespace headrace
