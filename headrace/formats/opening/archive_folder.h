// Archives (a zip, a squashfs image) read as the folders of a data set. Any thread.
#pragma once
#include "headrace/formats/format.h"

namespace headrace {

// Whether the file, or the first of several, starts like an archive.
bool looks_like_archive(const Probe& files);
// An archive, as a folder. `zip -r photos.zip photos` puts everything into a folder of that name: if one
// folder holds everything, it is the data set, unless it holds images directly, which makes it a class.
// REQUIRES: archive.inside.
Result<Probe> archive_as_folder(Store& store, const Probe& archive);

}  // namespace headrace
