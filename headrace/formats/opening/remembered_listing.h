// The listing of a huge folder, stored: 1.3 million names are walked once and then read from a sidecar.
//
// A stored listing is valid while all of its directories are unchanged, which takes one stat per directory
// and none per file. Small folders, and stores that are not persistent, are listed every time. Any thread may
// call it.
#pragma once
#include <memory>
#include <string>

#include "headrace/formats/index/sidecar.h"
#include "headrace/io/store.h"

namespace headrace {

inline constexpr size_t kWorthRemembering = 20'000;  // files; below that, the walk takes milliseconds

// Store::list, or its stored result.
Result<std::shared_ptr<const Listing>> remembered_listing(Store& store, const std::string& root);

// A listing and when its walk began. The sidecar borrows from it. Reading returns nothing if the sections are
// invalid.
struct TimedListing {
  Listing listing;
  int64_t begun_ns = 0;  // since 1970, like FileInfo::changed_ns
};
Sidecar listing_to_sidecar(const TimedListing& timed);
std::optional<TimedListing> listing_from_sidecar(const Sidecar& sidecar);

}  // namespace headrace
