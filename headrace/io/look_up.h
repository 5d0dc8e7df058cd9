// Whether a name exists, does not exist, or cannot be examined, by the system's answer. The one place where
// this is decided, for every look-up.
//
// Only "no such file" is absence, and only for a name that nobody listed: a sidecar, a manifest, the folder
// that a pattern implies. Everything else (EACCES, EIO, ESTALE, EMFILE, a link that leads nowhere …) is an
// error, because data that cannot be examined at the moment would shift the labels and the order of the rest.
// SkippingStore (skipping_store.h) leaves such names out and keeps what it left out.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/io/store.h"

namespace headrace {

// Whether the failure says that there is nothing at the path: also when the file system cannot have such a
// name, as one that is too long, or a pattern on a network share.
bool is_absent(const Status& failure);
// Whether the system failed, so that the failure says nothing about the data: such as EIO and EMFILE.
bool is_of_the_system(const Status& failure);

// The file or folder at a path that nobody listed: nothing if there is none.
Result<std::optional<FileInfo>> find(Store& store, const std::string& path);
// The same as whether there is a file, or a folder.
Result<bool> has_file(Store& store, const std::string& path);
Result<bool> has_folder(Store& store, const std::string& path);
// The file at a path that nobody listed; null if there is none, or a folder.
Result<std::unique_ptr<OpenFile>> open_if_there(Store& store, const std::string& path);

// The error of a name that was listed and cannot be examined, `why` being the system's answer; it says how to
// do without it.
Status cannot_examine(const Status& why, std::string_view path);

// Why, without the path: "Permission denied".
std::string reason_of(const Status& failure);
// The option of read() that leaves out what cannot be examined, and says so.
inline constexpr std::string_view kSkipUnreadable = "skip_unreadable";

inline constexpr std::string_view kLeadsNowhere = "a link that leads nowhere";

// Whether a folder of this name never holds data: what file systems, network storage and desktops put beside
// them ("lost+found", ".snapshot", "@eaDir" …). It is passed over, readable or not.
bool is_no_data(std::string_view name);
// Whether some part of a path begins with a dot.
bool is_hidden_path(std::string_view path);

}  // namespace headrace
