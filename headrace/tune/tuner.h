// Changes three numbers, one at a time, until the consumer does not wait or no change helps, and gives back
// what is not needed. Pure arithmetic on Gauges, without clocks or threads.
//
// A change has a reason and a prediction (Model); its effect is measured, and a change without a gain is
// undone. A number whose change brought no gain is left alone until conditions change.
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
  double predicted = 0;  // rows per second
  double obtained = -1;  // rows per second; negative: not measured yet
  bool undone = false;
};

class Tuner {
 public:
  Tuner(Settings start, SettingLimits limits, size_t cores)
      : limits_(limits), settings_(start), cores_(cores) {}

  // Returns the settings for the next interval.
  const Settings& look(const Gauge& gauge);
  // Call between intervals that cannot be compared: a new epoch, a pause.
  void restart();
  // Advances the time without a measurement, so that the times of decisions stay right.
  void pass(double seconds) { at_s_ += seconds; }

  const Settings& settings() const { return settings_; }
  // The settings worth keeping: without the change being tried.
  Settings found() const;
  const SettingLimits& limits() const { return limits_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  bool is_trying() const { return trial_.has_value(); }  // the last decision
  // Readers that wait for the store decide by what they did, which is known once each has read, however short
  // the interval: the settings to go on with, the same while a trial is judged. Null if they decide nothing.
  std::optional<Settings> by_reads(const Gauge& gauge) const;
  Model::Tried tried() const { return {bandwidth_, in_vain_[static_cast<size_t>(Knob::io)], no_room_}; }

 private:
  enum class Aim : uint8_t { more, less };
  struct Trial {
    Aim aim;
    Gauge before;
    Settings from;
    bool is_of_reads = false;        // judged by what readers deliver
    size_t decisions = 1;            // how many of the last ones it consists of
    std::optional<Gauge> once = {};  // one measurement without a gain: measure again before undoing
  };
  bool look_at_reads(const Gauge& gauge);
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
  int settle_ = 1;  // intervals to skip: work of the previous settings is still in progress
  int calm_ = 0;    // intervals in which the consumer did not wait
  Gauge since_;     // measured since the last change, over a few seconds
  int looks_ = 0;   // intervals in `since_`
  std::optional<Trial> trial_;
  std::array<bool, kKnobs.size()> in_vain_{};          // raising it brought no gain
  std::array<size_t, kKnobs.size()> needed_{0, 0, 0};  // lowering it below this was a loss
  double steady_rate_ = 0, usual_rate_ = 0;            // at the last failed change, and now
  double bandwidth_ = Model::kNoBound;
  bool no_room_ = false;
  std::vector<Decision> decisions_;
};

}  // namespace headrace
