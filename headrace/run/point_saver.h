// Writes the entropy points that a run has found, by a thread of its own: nobody waits for it who does not
// want to. An index that cannot be kept is found again.
#pragma once
#include <memory>
#include <optional>

#include "headrace/core/stop_flag.h"
#include "headrace/formats/index/point_index.h"

namespace headrace {

// One thread at a time may call it, unless it says otherwise.
class PointSaver {
 public:
  explicit PointSaver(std::shared_ptr<PointIndex> points) : points_(std::move(points)) {}  // or null
  PointSaver(const PointSaver&) = delete;
  PointSaver& operator=(const PointSaver&) = delete;
  ~PointSaver() { give_up_after(0); }

  // Begin, unless it is not worth it or under way.
  void start();
  // Give what is under way so long, then give it up. Nothing of what was found is lost by that.
  void give_up_after(uint64_t milliseconds);
  // Whether so much was found that it should be written while the run goes on. Any thread.
  bool is_due() const;

  class Save;
  std::shared_ptr<const Save> under_way() const { return save_; }  // null when nothing was begun
  // Wait for a save, so long at most; false when that was not enough. Any thread.
  static bool wait(const Save& save, std::optional<uint64_t> milliseconds);

 private:
  const std::shared_ptr<PointIndex> points_;
  StopFlag stop_;
  std::shared_ptr<const Save> save_;
};

}  // namespace headrace
