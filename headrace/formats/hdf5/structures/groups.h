// The links of a group, in any of HDF5's three forms.
#pragma once
#include "headrace/formats/hdf5/structures/messages.h"
#include "headrace/formats/hdf5/structures/object_header.h"

namespace headrace::hdf5 {

using WithLink = std::function<Status(const Link&)>;
// Whether the messages are a group's; `then` is called with each of its links, in the order in which they
// are read.
Result<bool> read_links(Fetches& fetches, Fetches::Owner owner, Place place,
                        const std::vector<Message>& messages, WithLink then);

}  // namespace headrace::hdf5
