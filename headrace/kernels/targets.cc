#include "headrace/kernels/targets.h"

#include "headrace/kernels/simd.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

namespace headrace::kernels {

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void force_simd_target(std::string_view target) {
  hwy::SetSupportedTargetsForTest(0);
  for (int64_t candidate : hwy::SupportedAndGeneratedTargets())
    if (target == hwy::TargetName(candidate)) hwy::SetSupportedTargetsForTest(candidate);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::string_view simd_target() { return hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()); }

}  // namespace headrace::kernels
