#include "headrace/run/engine/ranges.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "headrace/run/engine/stage.h"

namespace headrace {
namespace {

// The used part of NVTX's binary interface, version 3 (github.com/NVIDIA/NVTX: nvToolsExt.h,
// nvtxDetail/nvtxTypes.h). A tool exports InitializeInjectionNvtx2. It gets a function that returns tables of
// slots by number, and writes its callbacks into those slots that it handles.
extern "C" {
using Function = void (*)();
struct EventAttributes {
  uint16_t version = 3, size = sizeof(EventAttributes);
  uint32_t category = 0;
  int32_t color_type = 1;  // ARGB
  uint32_t color = 0;
  int32_t payload_type = 0, reserved = 0;
  uint64_t payload = 0;
  int32_t message_type = 1;  // text
  const void* message = nullptr;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);
struct CallbackTable {
  size_t size;
  int (*module_functions)(int module, Function*** functions, unsigned* count);
};
struct VersionTable {
  size_t size;
  uint32_t version, reserved;
  void (*set_tool_version)(uint32_t version);
};
using ExportTable = const void* (*)(uint32_t number);
using Initialize = int (*)(ExportTable tables);
using CreateDomain = void* (*)(const char* name);
using RegisterString = void* (*)(void* domain, const char* text);
using Push = int (*)(void* domain, const EventAttributes* what);
using Pop = int (*)(void* domain);
}

constexpr int kRegistered = 3;  // a message_type: the result of RegisterString
constexpr int kUnsigned = 1;    // a payload_type
constexpr uint32_t kCallbackTable = 1, kVersionTable = 3;
// The number of slots of each module; the first slot of each is unused.
constexpr std::array<unsigned, 7> kSlots{0, 16, 9, 15, 7, 16, 7};
constexpr int kCore2 = 5;
enum Core2 { kPush = 4, kPop = 5, kRegisterString = 10, kCreateDomain = 12, kStart = 15 };

struct Slots {
  std::array<Function, 16> functions{};
  std::array<Function*, 17> addresses{};
};
std::array<Slots, kSlots.size()> slots;

extern "C" int module_functions(int module, Function*** functions, unsigned* count) {
  if (module < 1 || module >= static_cast<int>(kSlots.size())) return 0;
  const auto number = static_cast<size_t>(module);
  Slots& one = slots[number];
  for (size_t i = 1; i < kSlots[number]; ++i) one.addresses[i] = &one.functions[i];
  if (functions) *functions = one.addresses.data();
  if (count) *count = kSlots[number];
  return 1;
}

extern "C" void set_tool_version(uint32_t) {}

extern "C" const void* export_table(uint32_t number) {
  static const CallbackTable callbacks{sizeof(CallbackTable), module_functions};
  static const VersionTable version{sizeof(VersionTable), 3, 0, set_tool_version};
  if (number == kCallbackTable) return &callbacks;
  return number == kVersionTable ? &version : nullptr;
}

// Pastels that can be told apart in grayscale.
enum Name : size_t { kRead, kSamples, kFinish, kNext, kNames };
constexpr std::array<const char*, kNames> kTexts{"read", "samples", "finish", "next"};
constexpr std::array<uint32_t, kNames> kColors{0xff8ecae6, 0xff95d5b2, 0xffcdb4db, 0xffffb703};

struct Tool {
  void* domain = nullptr;
  Push push = nullptr;
  Pop pop = nullptr;
  std::array<EventAttributes, kNames> names;
};
Tool tool;

template <class F> F slot(Core2 number) {
  return reinterpret_cast<F>(slots[static_cast<size_t>(kCore2)].functions[static_cast<size_t>(number)]);
}

// Whether a tool is present and handles ranges.
bool attach() {
  const char* path = secure_getenv("NVTX_INJECTION64_PATH");
  void* library = path ? dlopen(path, RTLD_LAZY) : nullptr;
  if (!library) return false;
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialize || initialize(export_table) == 0) {
    dlclose(library);
    return false;
  }
  if (const auto start = slot<void (*)(const void*)>(kStart)) start(nullptr);
  const auto create = slot<CreateDomain>(kCreateDomain);
  tool.push = slot<Push>(kPush), tool.pop = slot<Pop>(kPop);
  if (!create || !tool.push || !tool.pop) return false;
  tool.domain = create("headrace");
  const auto register_string = slot<RegisterString>(kRegisterString);
  for (size_t i = 0; i < kNames; ++i) {
    EventAttributes& what = tool.names[i];
    what.color = kColors[i];
    what.message = kTexts[i];
    if (void* known = register_string ? register_string(tool.domain, kTexts[i]) : nullptr)
      what.message = known, what.message_type = kRegistered;
  }
  return true;
}

}  // namespace

std::atomic<bool> Range::is_watched = false;

void look_for_profiler() {
  static std::once_flag once;
  std::call_once(once, [] { Range::is_watched.store(attach()); });
}

void Range::begin(const Work& work) {
  EventAttributes what = tool.names[work.io ? kRead : work.part == Work::kFinish ? kFinish : kSamples];
  what.payload_type = kUnsigned, what.payload = work.ticket->serial;
  tool.push(tool.domain, &what);
  begun_ = true;
}

void Range::begin_next() {
  tool.push(tool.domain, &tool.names[kNext]);
  begun_ = true;
}

void Range::end() { tool.pop(tool.domain); }

}  // namespace headrace
