// What `headrace doctor` finds in its look at the samples: copies, odd samples, labels out of balance. Pure
// functions; docs/doctor.md gives the thresholds and the reasons for them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

// Samples are positions in Look::samples throughout.
struct Copies {
  std::vector<std::vector<uint64_t>> groups;     // of the same bytes, and the same label where there are any
  std::vector<std::vector<uint64_t>> conflicts;  // of the same bytes under different labels
  uint64_t repeated = 0;                         // samples beyond the first of each group, of both kinds
  double repeated_bytes = 0;
};
Copies find_copies(const Look& look);

// A kind of odd sample.
struct Suspicion {
  std::string name;               // "odd_aspect"
  std::string rule;               // "longer side more than 4.0 times the shorter"
  std::string why;                // why it matters, for people
  double threshold = 0;           // the number in the rule; 0 where there is none
  std::vector<uint64_t> samples;  // in order
};
// All kinds that this data can have, those without a sample too.
std::vector<Suspicion> find_suspicions(const Look& look);

struct ClassCount {
  std::string label;
  uint64_t samples = 0;
};
struct Balance {
  bool known = false;    // samples have labels, and few enough different ones to be classes
  uint64_t classes = 0;  // with samples
  uint64_t samples = 0;  // labels in all
  double median = 0;     // samples of a class
  double entropy_bits = 0;
  double effective_classes = 0;  // as many of equal size have this entropy
  ClassCount largest, smallest;
  double ratio = 0;                // of their samples
  std::vector<ClassCount> rare;    // less than a tenth of the median
  std::vector<ClassCount> large;   // more than ten times the median
  std::vector<std::string> empty;  // labels that have a name and no sample; when all samples were looked at
  bool is_skewed() const { return known && ratio >= kSkewed; }
  static constexpr double kSkewed = 10;
};
// `num_names`: labels 0 to num_names - 1 are known by name.
Balance find_balance(const Look& look, uint64_t num_names);

}  // namespace headrace::cli
