// Any text as JSON: what can be read can be written, and reads back equal.
#include <cstdlib>

#include "headrace/core/value.h"

using headrace::Value;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto first = Value::parse({reinterpret_cast<const char*>(data), size});
  if (!first.ok()) return 0;
  const std::string text = first->dump();
  const auto second = Value::parse(text);
  if (!second.ok() || !(*second == *first) || second->dump() != text) std::abort();
  return 0;
}
