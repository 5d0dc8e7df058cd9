// What a run did in an interval of time, as the tuner and the report need it: sums of seconds over all
// threads of a kind, and counts.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/tune/settings.h"

namespace headrace {

struct Gauge {
  double seconds = 0;
  Settings settings;                   // in force
  uint64_t rows = 0;                   // rows whose work was finished; what rates are counted in
  uint64_t parts = 0;                  // pieces of work that they came in
  uint64_t elements = 0, samples = 0;  // handed to the consumer
  double waited = 0;                   // by the consumer
  double occupied = 0;                 // workers had a part in hands
  double busy = 0;                     // of that, CPU time
  double lacked = 0;                   // ready to run and without a core, also between parts
  double in_python = 0;                // of `busy`, in Python functions
  double process = 0;                  // CPU time of the whole process, its consumer's too; 0: not known
  double usable = 0;                   // cores' worth of CPU time that may be had; 0: all of all cores
  double others = -1;                  // cores that other processes use; below 0: not known
  size_t machine = 0;                  // cores of which those are; 0: no more than may be had
  double worker_time = 0;              // of all workers in force, and of all readers: what may be occupied
  double reader_time = 0;
  double reading = 0;            // readers had a part in hands
  double reading_cpu = 0;        // of that, CPU time
  double reading_lacked = 0;     // as `lacked`, of readers
  double reading_in_python = 0;  // of `reading_cpu`, in Python's code that makes samples
  uint64_t reads = 0, bytes = 0;
  size_t memory = 0, budget = 0;  // in use at the end, and what may be
  size_t fixed = 0;               // of `memory`, what more elements under way would not add to
  bool starved = false;           // work was held back for want of memory

  double rate() const { return seconds > 0 ? static_cast<double>(rows) / seconds : 0; }
  // Of the interval: how much the consumer waited, and how many of each kind were occupied on average.
  double wait_share() const { return seconds > 0 ? waited / seconds : 0; }
  double workers_occupied() const { return seconds > 0 ? occupied / seconds : 0; }
  double readers_occupied() const { return seconds > 0 ? reading / seconds : 0; }
  double cores_used() const { return seconds > 0 ? (busy + reading_cpu) / seconds : 0; }
  // Share of the time, of all threads together, in Python's code.
  double python_share() const { return seconds > 0 ? (in_python + reading_in_python) / seconds : 0; }
  // As cores_used(), by everything this process does.
  double own_cores_used() const {
    const double used = seconds > 0 ? process / seconds : 0;
    return used > cores_used() ? used : cores_used();
  }
  // Time that parts took without working or waiting for a core: functions that sleep, wait for an answer, or
  // for the interpreter's lock.
  double stalled() const {
    const double rest = occupied - busy - lacked;
    return rest > 0 ? rest : 0;
  }
  // The same of reading: what the store takes.
  double store_waits() const {
    const double rest = reading - reading_cpu - reading_lacked;
    return rest > 0 ? rest : 0;
  }
  // Readers mostly unpack, check and copy.
  bool readers_compute() const { return store_waits() < 0.3 * reading; }
  // Workers mostly have functions in hands that wait, or hold up one another.
  bool functions_wait() const { return stalled() >= 0.3 * occupied; }

  // Two intervals as one; settings and memory are the later one's.
  Gauge& operator+=(const Gauge& later);
};

}  // namespace headrace
