#include "cli/look/on_error_counts.h"

#include "cli/output/terminal.h"

namespace headrace::cli {
namespace {

uint64_t count_in(const Value& report, std::string_view key) {
  const Value* value = report.find(key);
  return value && value->integer() ? static_cast<uint64_t>(*value->integer()) : 0;
}

}  // namespace

OnErrorCounts OnErrorCounts::from_report(const Value& report) {
  return {count_in(report, "skipped"), count_in(report, "replaced")};
}

OnErrorCounts OnErrorCounts::since(const OnErrorCounts& earlier) const {
  return {skipped - earlier.skipped, replaced - earlier.replaced};
}

std::string OnErrorCounts::text() const {
  std::string out;
  for (const auto& [count, done] : {std::pair{skipped, " skipped"}, std::pair{replaced, " replaced"}}) {
    if (count == 0) continue;
    out += out.empty() ? plural(count, "broken sample") : ", " + count_text(count);
    out += done;
  }
  return out;
}

}  // namespace headrace::cli
