// Archives (a zip, a squashfs image) as the folders that hold a data set. Any thread.
#pragma once
#include "headrace/formats/format.h"

namespace headrace {

// Whether the file, or the first of several, begins as an archive does.
bool looks_like_archive(const Probe& files);
// An archive, as the folder that it is. `zip -r photos.zip photos` packs a data set with its name: a folder
// that holds all there is, is it, unless images lie directly in it, which then is a class. REQUIRES:
// archive.inside.
Result<Probe> archive_as_folder(Store& store, const Probe& archive);

}  // namespace headrace
