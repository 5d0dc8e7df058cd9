// Writes the entropy points that a run has found, in a thread of its own that the run need not wait for.
// Points that cannot be saved are found again.
#pragma once
#include <memory>
#include <optional>

#include "headrace/core/stop_flag.h"
#include "headrace/formats/index/point_index.h"

namespace headrace {

// For one thread at a time, unless stated otherwise.
class PointSaver {
 public:
  explicit PointSaver(std::shared_ptr<PointIndex> points) : points_(std::move(points)) {}  // or null
  PointSaver(const PointSaver&) = delete;
  PointSaver& operator=(const PointSaver&) = delete;
  ~PointSaver() { give_up_after(0); }

  // Starts saving, unless it is not worthwhile or already running.
  void start();
  // Waits for a running save, and cancels it after a timeout. No points are lost by that.
  void give_up_after(uint64_t milliseconds);
  // Whether enough was found to save it during the run. Any thread.
  bool is_due() const;

  class Save;
  std::shared_ptr<const Save> under_way() const { return save_; }  // null if none was started
  // Waits for a save; false at a timeout. Any thread.
  static bool wait(const Save& save, std::optional<uint64_t> milliseconds);

 private:
  const std::shared_ptr<PointIndex> points_;
  StopFlag stop_;
  std::shared_ptr<const Save> save_;
};

}  // namespace headrace
