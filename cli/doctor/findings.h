// What `headrace doctor` finds in the samples: copies, unusual samples, class imbalance. Pure functions;
// docs/doctor.md gives the thresholds and the reasons for them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

// In this file, samples are positions in Look::samples.
struct Copies {
  std::vector<std::vector<uint64_t>> groups;     // same bytes, and same label if there are labels
  std::vector<std::vector<uint64_t>> conflicts;  // same bytes, different labels
  uint64_t repeated = 0;                         // samples beyond the first of each group, both kinds
  double repeated_bytes = 0;
};
Copies find_copies(const Look& look);

// A kind of unusual sample.
struct Suspicion {
  std::string name;               // "odd_aspect"
  std::string rule;               // "longer side more than 4.0 times the shorter"
  std::string why;                // why it matters, as text
  double threshold = 0;           // the number in the rule; 0 if there is none
  std::vector<uint64_t> samples;  // in order
};
// All kinds that this data can have, including those without samples.
std::vector<Suspicion> find_suspicions(const Look& look);

struct ClassCount {
  std::string label;
  uint64_t samples = 0;
};
struct Balance {
  bool known = false;    // samples have labels, with few enough different values to be classes
  uint64_t classes = 0;  // with samples
  uint64_t samples = 0;  // labels in total
  double median = 0;     // samples of a class
  double entropy_bits = 0;
  double effective_classes = 0;  // the number of equal classes with this entropy
  ClassCount largest, smallest;
  double ratio = 0;                // of their samples
  std::vector<ClassCount> rare;    // less than a tenth of the median
  std::vector<ClassCount> large;   // more than ten times the median
  std::vector<std::string> empty;  // labels with a name but no sample; only if all samples were looked at
  bool is_skewed() const { return known && ratio >= kSkewed; }
  static constexpr double kSkewed = 10;
};
// `num_names`: labels 0 to num_names - 1 have names.
Balance find_balance(const Look& look, uint64_t num_names);

}  // namespace headrace::cli
