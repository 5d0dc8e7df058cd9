// Drives Openings against a Store, as the engine does: one at a time, or many at once with their reads
// completing in any order. Each read that fails says which bytes of which file were wanted, and what an
// Opening refuses is told with the file whose bytes it was given last, as open_source() names it, unless it
// has said so itself.
//
// `drive` may run on several threads at once, each with an Opening of its own.
#pragma once
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace::trial {

using PathOf = std::function<std::string(uint64_t ordinal)>;

// The extent's bytes, all of them; the bounds are checked before memory is taken. `path` may lead through an
// archive, which is opened anew each time.
Result<BufferPtr> read_extent(Store& store, const std::string& path, const Extent& extent);

template <class T>
Result<Step<T>> advance(Opening<T>& opening, std::span<const BufferPtr> bytes, const std::string& file) {
  auto step = opening.advance(bytes);
  if (step.ok() || step.status().text().find(file) != std::string_view::npos) return step;
  return step.status().before("'" + file + "': ");
}

template <class T> Result<T> drive(Opening<T>& opening, const PathOf& path, Store& store) {
  std::vector<BufferPtr> bytes;
  std::string file;
  while (true) {
    HEADRACE_ASSIGN(Step<T> step, advance(opening, bytes, file));
    if (T* value = std::get_if<T>(&step)) return std::move(*value);
    bytes.clear();
    for (const Extent& extent : std::get<std::vector<Extent>>(step)) {
      file = path(extent.file);
      HEADRACE_ASSIGN(BufferPtr buffer, read_extent(store, path(extent.file), extent));
      bytes.push_back(std::move(buffer));
    }
  }
}

// All openings are under way at once. Each turn one of the reads that wait, drawn from `seed`, completes:
// within an opening and between openings no order holds.
template <class T>
Result<std::vector<T>> drive_in_any_order(std::vector<std::unique_ptr<Opening<T>>> openings,
                                          const PathOf& path, Store& store, uint64_t seed) {
  struct Wait {
    size_t opening, place;
    Extent extent;
  };
  std::mt19937_64 random(seed);
  std::vector<T> values(openings.size());
  std::vector<std::vector<BufferPtr>> bytes(openings.size());
  std::vector<size_t> missing(openings.size());
  std::vector<std::string> files(openings.size());  // whose bytes were asked for last
  std::vector<Wait> waits;
  const auto go_on = [&](size_t i) -> Status {
    while (missing[i] == 0) {
      HEADRACE_ASSIGN(Step<T> step, advance(*openings[i], bytes[i], files[i]));
      if (T* value = std::get_if<T>(&step)) {
        values[i] = std::move(*value);
        return {};
      }
      const auto& extents = std::get<std::vector<Extent>>(step);
      bytes[i].assign(extents.size(), nullptr);
      missing[i] = extents.size();
      if (!extents.empty()) files[i] = path(extents.back().file);
      for (size_t place = 0; place < extents.size(); ++place) waits.push_back({i, place, extents[place]});
    }
    return {};
  };
  for (size_t i = 0; i < openings.size(); ++i) HEADRACE_TRY(go_on(i));
  while (!waits.empty()) {
    std::swap(waits[random() % waits.size()], waits.back());
    const Wait wait = waits.back();
    waits.pop_back();
    HEADRACE_ASSIGN(bytes[wait.opening][wait.place], read_extent(store, path(wait.extent.file), wait.extent));
    if (--missing[wait.opening] == 0) HEADRACE_TRY(go_on(wait.opening));
  }
  return values;
}

}  // namespace headrace::trial
