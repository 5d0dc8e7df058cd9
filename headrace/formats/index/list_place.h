// Where the index of a list of files is stored, and how names in it are written.
//
// A list is known by the path that was given, or the folder that all given paths share. Names are relative to
// the folder that holds it, or absolute where they are outside of that. Any thread.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/formats/index/list_index.h"
#include "headrace/formats/index/sidecar.h"

namespace headrace {

// The folder of a name; "" for one without a slash.
std::string_view folder_of_name(std::string_view name);

class ListPlace {
 public:
  // `paths`: as the user gave them. None where they have no place that a name could be relative to.
  static std::optional<ListPlace> of(std::span<const std::string> paths);

  std::string name_of(const std::string& path) const;
  std::string path_of(std::string_view name) const;  // absolute
  const std::string& path() const { return root_; }  // of the list: absolute

  // In the user's cache folder, and next to the data.
  SidecarPlace in_cache() const;
  SidecarPlace beside() const;
  // The latter where the list is known to be a folder, without a look at it.
  SidecarPlace beside_folder() const;

 private:
  std::string root_, base_;  // the list, and the folder that names are relative to; absolute
};

// The index that is stored there; nothing if there is none.
std::optional<ListIndex> stored_list(const SidecarPlace& place);
Status store_list(const SidecarPlace& place, const ListIndex& index);
// Takes from a stored index what is believed of files that are not looked at: its indexes are checked against
// their files. What is returned does that once. Where it is next to the data and another user's, one of this
// user's own comes before it.
std::function<void()> forgetting_names(const SidecarPlace& place, const SidecarPlace& in_cache);

}  // namespace headrace
