// An object header: the messages of a group or a dataset, in either version, collected from all its pieces.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/hdf5/structures/cursor.h"
#include "headrace/formats/hdf5/structures/fetches.h"

namespace headrace::hdf5 {

// Where structures are in the file, and how they are read.
struct Place {
  Sizes sizes;
  uint64_t base = 0;  // base of addresses
};

struct Message {
  uint16_t type = 0;
  bool is_shared = false;  // the body holds the message's address
  std::string body;
  Cursor cursor(Sizes sizes) const { return Cursor(std::as_bytes(std::span(body)), sizes); }
};

using WithMessages = std::function<Status(std::vector<Message>)>;
// `address`: as stored, without the base. Comments, times and similar messages are left out.
void read_header(Fetches& fetches, Fetches::Owner owner, Place place, uint64_t address, WithMessages then);

// The address of the header that holds a shared message.
Result<uint64_t> shared_with(Cursor cursor);

}  // namespace headrace::hdf5
