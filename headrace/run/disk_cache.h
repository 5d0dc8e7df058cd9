// What `cache(path)` keeps.
#pragma once
#include <memory>
#include <string>

#include "headrace/core/element_cache.h"
#include "headrace/formats/source.h"

namespace headrace {

// In files of a folder, which is made where there is none. `key` names the pipeline and the data: elements of
// others in the same folder are not seen. Several processes may add at once, and see within a moment what the
// others added. Without room on the disk nothing more is kept: see trouble().
Result<std::shared_ptr<ElementCache>> disk_cache(const std::string& folder, const std::string& key);

// Which data a source reads, as far as can be told without reading them: where its files lie, and their sizes
// and times. Many files are looked at by several threads.
std::string data_key(const Source& source);

}  // namespace headrace
