#include "headrace/formats/opening/remembered_listing.h"

#include <chrono>
#include <cstring>
#include <filesystem>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

// A directory that changed just before it was listed may change again within one tick of the file system's
// clock, which may differ from ours: it is listed again.
constexpr int64_t kSettled = 2'000'000'000;

// A key that is the same under any working directory. Empty if the path does not exist.
std::string key_of(const std::string& root) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(root, error);
  return error ? "" : "listing 2 " + path.string();
}

bool is_current(Store& store, const std::string& root, const TimedListing& timed) {
  const Listing& listing = timed.listing;
  for (size_t i = 0; i < listing.directories.size(); ++i) {
    const std::string_view name = listing.directories[i];
    const auto info = store.info(name.empty() ? root : root + "/" + std::string(name));
    if (!info.ok() || !info->is_directory || info->changed_ns != listing.changed_ns[i]) return false;
    if (info->changed_ns > timed.begun_ns - kSettled) return false;
  }
  return !listing.changed_ns.empty();
}

bool read_names(const Sidecar& sidecar, std::string_view section, Names& out) {
  const auto bytes = sidecar.find(section);
  return bytes && Names::from_text({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, out);
}

}  // namespace

Sidecar listing_to_sidecar(const TimedListing& timed) {
  Sidecar out;
  out.sections = {{"files", text_bytes(timed.listing.files.text())},
                  {"directories", text_bytes(timed.listing.directories.text())},
                  {"changed", std::as_bytes(std::span(timed.listing.changed_ns))},
                  {"begun", std::as_bytes(std::span(&timed.begun_ns, 1))}};
  return out;
}

std::optional<TimedListing> listing_from_sidecar(const Sidecar& sidecar) {
  TimedListing out;
  Listing& listing = out.listing;
  if (!read_names(sidecar, "files", listing.files) ||
      !read_names(sidecar, "directories", listing.directories))
    return std::nullopt;
  const auto changed = sidecar.find("changed"), begun = sidecar.find("begun");
  if (!changed || changed->size() != listing.directories.size() * sizeof(int64_t)) return std::nullopt;
  if (!begun || begun->size() != sizeof out.begun_ns) return std::nullopt;
  listing.changed_ns.resize(listing.directories.size());
  if (!changed->empty()) std::memcpy(listing.changed_ns.data(), changed->data(), changed->size());
  std::memcpy(&out.begun_ns, begun->data(), sizeof out.begun_ns);
  return out;
}

Result<std::shared_ptr<const Listing>> remembered_listing(Store& store, const std::string& root) {
  if (auto known = store.recalled_listing(root)) return known;
  const std::string key = store.persistent() ? key_of(root) : "";
  if (!key.empty())
    if (const auto sidecar = load_sidecar(key))
      if (auto timed = listing_from_sidecar(*sidecar); timed && is_current(store, root, *timed))
        return std::make_shared<const Listing>(std::move(timed->listing));
  TimedListing timed;
  timed.begun_ns = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  HEADRACE_ASSIGN(timed.listing, store.list(root));
  // A folder with problems is not stored, and never a listing that is not whole: it is walked again until
  // they are gone. Neither is the listing of an archive, whose directory is read at once.
  if (!key.empty() && timed.listing.files.size() >= kWorthRemembering && timed.listing.problems.empty() &&
      timed.listing.unread.empty() && !timed.listing.changed_ns.empty())
    (void)store_sidecar(key, listing_to_sidecar(timed));  // on failure the next run walks again
  return std::make_shared<const Listing>(std::move(timed.listing));
}

}  // namespace headrace
