#include "headrace/formats/opening/archive_folder.h"

#include "headrace/codecs/codec.h"
#include "headrace/io/archives/archive.h"

namespace headrace {
namespace {

constexpr int kMostFolders = 16;  // nested

bool is_of_macs(std::string_view name) {  // written by macOS
  return name.starts_with("__MACOSX/") || name == ".DS_Store" || name.starts_with("._");
}

// The name of the only top-level folder; "" if there is none or it is a class of images.
std::string only_folder(const Listing& listing) {
  std::string_view found;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    if (is_of_macs(name)) continue;
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos || (!found.empty() && found != name.substr(0, slash))) return "";
    found = name.substr(0, slash);
    const std::string_view rest = name.substr(slash + 1);
    if (rest.find('/') == std::string_view::npos && !is_of_macs(rest) && has_image_ending(rest)) return "";
  }
  return std::string(found);
}

}  // namespace

bool looks_like_archive(const Probe& files) {
  return files.head && !archive_kind(files.head->bytes()).empty();
}

Result<Probe> archive_as_folder(Store& store, const Probe& archive) {
  Probe out;
  out.path = archive.path;
  out.info = archive.info;
  out.info.is_directory = true, out.info.size = 0;
  out.listing = archive.inside;
  for (int i = 0; i < kMostFolders; ++i) {
    const std::string inner = only_folder(*out.listing);
    if (inner.empty()) break;
    out.path += (out.path.ends_with('/') ? "" : "/") + inner;
    HEADRACE_ASSIGN(Listing listing, store.list(out.path));
    out.listing = std::make_shared<const Listing>(std::move(listing));
  }
  return out;
}

}  // namespace headrace
