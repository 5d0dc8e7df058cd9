// Measurements of a run over an interval of time, for the tuner and the report: sums of seconds over all
// threads of a kind, and counts.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/tune/settings.h"

namespace headrace {

struct Gauge {
  double seconds = 0;
  Settings settings;                   // in force
  uint64_t rows = 0;                   // rows whose work was finished; the unit of rates
  uint64_t parts = 0;                  // parts (pieces of work) that these rows were in
  uint64_t elements = 0, samples = 0;  // handed to the consumer
  double waited = 0;                   // by the consumer
  double occupied = 0;                 // time that workers spent on parts
  double busy = 0;                     // of that, CPU time
  double lacked = 0;                   // time that workers were runnable without a core, also between parts
  double in_python = 0;                // of `busy`, in Python functions
  double process = 0;                  // CPU time of the whole process, including the consumer; 0: unknown
  double usable = 0;                   // available CPU time in cores (a quota); 0: all cores in full
  double others = -1;                  // cores used by other processes; negative: unknown
  size_t machine = 0;                  // all cores of the machine; 0: no more than the process may use
  double worker_time = 0;              // threads × seconds, of all workers in force and of all readers:
  double reader_time = 0;              // the maximum of `occupied` and `reading`
  double reading = 0;                  // time that readers spent on parts that they finished
  double reading_cpu = 0;              // of that, CPU time
  double reading_lacked = 0;           // as `lacked`, of readers
  double reading_open = 0;             // time of parts being read at the end, less that at the beginning
  double reading_in_python = 0;        // of `reading_cpu`, in Python code that makes samples
  uint64_t reads = 0, bytes = 0;
  uint64_t rows_read = 0, parts_read = 0;  // by readers
  size_t queued = 0;                       // parts that wait for a reader at the end
  double parts_each = 0;                   // parts to read of each of the elements (`ready`) in progress
  size_t memory = 0, budget = 0;           // in use at the end, and the limit
  size_t fixed = 0;      // the part of `memory` that does not grow with more elements in flight
  bool starved = false;  // work was held back for lack of memory

  double rate() const { return seconds > 0 ? static_cast<double>(rows) / seconds : 0; }
  // Rows per second that readers deliver: known before any worker has finished a row.
  double reading_rate() const { return seconds > 0 ? static_cast<double>(rows_read) / seconds : 0; }
  // Share of the interval that the consumer waited, and the average number of occupied threads of each kind.
  double wait_share() const { return seconds > 0 ? waited / seconds : 0; }
  double workers_occupied() const { return seconds > 0 ? occupied / seconds : 0; }
  double readers_occupied() const {
    return seconds > 0 && reading + reading_open > 0 ? (reading + reading_open) / seconds : 0;
  }
  double cores_used() const { return seconds > 0 ? (busy + reading_cpu) / seconds : 0; }
  // Time in Python code of all threads together, as a share of the interval.
  double python_share() const { return seconds > 0 ? (in_python + reading_in_python) / seconds : 0; }
  // As cores_used(), for the whole process.
  double own_cores_used() const {
    const double used = seconds > 0 ? process / seconds : 0;
    return used > cores_used() ? used : cores_used();
  }
  // Time of parts without computing or waiting for a core: functions that sleep, wait for a response, or for
  // the GIL.
  double stalled() const {
    const double rest = occupied - busy - lacked;
    return rest > 0 ? rest : 0;
  }
  // The same for reading: the time spent waiting for the store.
  double store_waits() const {
    const double rest = reading - reading_cpu - reading_lacked;
    return rest > 0 ? rest : 0;
  }
  // The wait of one part.
  double store_wait() const { return parts_read > 0 ? store_waits() / static_cast<double>(parts_read) : 0; }
  // Readers spend most of their time in the store: no core would shorten that.
  bool reads_wait() const { return reading > 0 && store_waits() >= 0.5 * reading; }
  // Readers mostly decompress, verify and copy.
  bool readers_compute() const { return store_waits() < 0.3 * reading; }
  // Workers mostly run functions that wait, or that block one another.
  bool functions_wait() const { return stalled() >= 0.3 * occupied; }

  // Merges two intervals; settings and memory are those of the later one.
  Gauge& operator+=(const Gauge& later);
};

}  // namespace headrace
