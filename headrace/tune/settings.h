// The three numbers that can be changed during a run. Results do not depend on them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headrace {

enum class Knob : uint8_t { workers, io, ready };
inline constexpr std::array kKnobs{Knob::workers, Knob::io, Knob::ready};
constexpr std::string_view knob_name(Knob knob) {
  return knob == Knob::workers ? "workers" : knob == Knob::io ? "io" : "ready";
}

struct Settings {
  size_t workers = 1;  // threads that compute
  size_t io = 1;       // reads in flight
  size_t ready = 1;    // elements, mostly batches, in progress or finished

  size_t& of(Knob knob) { return knob == Knob::workers ? workers : knob == Knob::io ? io : ready; }
  size_t of(Knob knob) const { return const_cast<Settings*>(this)->of(knob); }
  bool operator==(const Settings&) const = default;
};

// A number whose two limits are equal is fixed.
struct SettingLimits {
  Settings least, most;
  bool may_turn(Knob knob) const { return least.of(knob) < most.of(knob); }
};

}  // namespace headrace
