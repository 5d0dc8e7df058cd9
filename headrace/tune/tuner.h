// Turns three numbers, one at a time, until the consumer does not wait or nothing helps any more, and gives
// back what is not needed. Pure arithmetic on Gauges: it knows no clock and no threads.
//
// A change is made for a reason and with a prediction (Model); what it brought is measured, and one that
// brought nothing is taken back. A number that was tried in vain is left alone until something else changes.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "headrace/tune/gauge.h"
#include "headrace/tune/model.h"

namespace headrace {

struct Decision {
  double at_s = 0;  // since the run's first interval
  Knob knob = Knob::workers;
  size_t from = 0, to = 0;
  std::string why;
  double predicted = 0;  // rows a second
  double obtained = -1;  // the same; below 0: not measured yet
  bool undone = false;
};

class Tuner {
 public:
  Tuner(Settings start, SettingLimits limits, size_t cores)
      : limits_(limits), settings_(start), cores_(cores) {}

  // What to go on with after this interval.
  const Settings& look(const Gauge& gauge);
  // Intervals are no measure of one another across this: another epoch, a pause.
  void restart();
  // So much of the run went by of which it is told nothing: decisions say when they were taken.
  void pass(double seconds) { at_s_ += seconds; }

  const Settings& settings() const { return settings_; }
  // Those that are worth to be kept: without what is being tried.
  Settings found() const;
  const SettingLimits& limits() const { return limits_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  bool is_trying() const { return trial_.has_value(); }  // the last of them
  Model::Tried tried() const { return {bandwidth_, in_vain_[static_cast<size_t>(Knob::io)], no_room_}; }

 private:
  enum class Aim : uint8_t { more, less };
  struct Trial {
    Aim aim;
    Gauge before;
    std::optional<Gauge> once;  // measured in vain once: look again before it is undone
  };
  void judge(const Gauge& gauge);
  void keep(const Gauge& before, const Gauge& after, Aim aim);
  void undo(const Gauge& after, Aim aim);
  void decide(const Gauge& gauge);
  bool try_more(const Gauge& gauge, const Model& model);
  bool more_readers(const Gauge& gauge, const Model& model);
  bool fewer_readers(const Gauge& gauge, const Model& model);
  bool more_workers(const Gauge& gauge, const Model& model);
  bool more_ready(const Gauge& gauge, const Model& model);
  bool fewer_for_python(const Gauge& gauge, const Model& model);
  bool give_back(const Gauge& gauge, const Model& model);
  bool turn(Knob knob, size_t to, Aim aim, const Gauge& gauge, const Model& model, std::string why);
  void forget_failures();

  SettingLimits limits_;
  Settings settings_;
  size_t cores_;
  double at_s_ = 0;
  int settle_ = 1;  // intervals to let pass: work of the settings before is still under way
  int calm_ = 0;    // intervals in which the consumer did not wait
  Gauge since_;     // the last change, for a while
  int looks_ = 0;   // intervals in it
  std::optional<Trial> trial_;
  std::array<bool, kKnobs.size()> in_vain_{};          // more of it brought nothing
  std::array<size_t, kKnobs.size()> needed_{0, 0, 0};  // less of it was felt
  double steady_rate_ = 0, usual_rate_ = 0;            // when the last failure was noted, and now
  double bandwidth_ = Model::kNoBound;
  bool no_room_ = false;
  std::vector<Decision> decisions_;
};

}  // namespace headrace
