#include "headrace/run/point_saver.h"

#include <chrono>
#include <future>

#include "headrace/run/lower/attach_points.h"

namespace headrace {

class PointSaver::Save {
 public:
  Save(std::shared_ptr<PointIndex> points, const StopFlag* stop)
      : done_(std::async(std::launch::async,
                         [points = std::move(points), stop] { (void)points->save(stop); })) {}
  bool wait(std::optional<uint64_t> milliseconds) const {
    if (milliseconds)
      return done_.wait_for(std::chrono::milliseconds(*milliseconds)) == std::future_status::ready;
    done_.wait();
    return true;
  }

 private:
  std::shared_future<void> done_;
};

bool PointSaver::wait(const Save& save, std::optional<uint64_t> milliseconds) {
  return save.wait(milliseconds);
}

void PointSaver::start() {
  if (!points_ || (save_ && !save_->wait(0)) || !is_worth_saving(*points_)) return;
  save_ = std::make_shared<Save>(points_, &stop_);
}

void PointSaver::give_up_after(uint64_t milliseconds) {
  if (save_ && !save_->wait(milliseconds)) {
    stop_.raise();
    save_->wait(std::nullopt);
    stop_.lower();
  }
  save_ = nullptr;
}

bool PointSaver::is_due() const { return points_ && headrace::is_due(*points_); }

}  // namespace headrace
