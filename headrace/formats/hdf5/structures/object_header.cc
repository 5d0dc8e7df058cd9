#include "headrace/formats/hdf5/structures/object_header.h"

#include <algorithm>
#include <memory>

#include "headrace/formats/hdf5/structures/checksum.h"
#include "headrace/formats/hdf5/structures/messages.h"

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kGuess = 512;
constexpr size_t kMostPieces = 4096;

bool is_wanted(uint16_t type) {
  constexpr uint16_t wanted[] = {kDataspace,    kLinkInfo,      kDatatype,     kOldFill, kFill,
                                 kLink,         kExternalFiles, kLayout,       kFilters, kAttribute,
                                 kContinuation, kSymbolTable,   kAttributeInfo};
  return std::ranges::find(wanted, type) != std::end(wanted);
}

// Shared by the reads of a header's pieces.
struct Header : std::enable_shared_from_this<Header> {
  Header(Fetches& all, Fetches::Owner whose, Place where, WithMessages then_do)
      : fetches(all), owner(whose), place(where), then(std::move(then_do)) {}

  Fetches& fetches;
  Fetches::Owner owner;
  Place place;
  WithMessages then;
  bool is_new = false, has_order = false;
  std::vector<Message> messages;
  size_t pieces = 0, waiting = 0;

  Result<uint64_t> first(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, place.sizes);
    is_new = bytes.size() >= 4 && Cursor(bytes).signature("OHDR");
    return is_new ? first_new(cursor, bytes) : first_old(cursor, bytes);
  }

  Result<uint64_t> first_old(Cursor& cursor, std::span<const std::byte> bytes) {
    const uint8_t version = cursor.u8();
    cursor.skip(1 + 2 + 4);  // number of messages, reference count
    const uint64_t size = cursor.u32();
    cursor.skip(4);
    HEADRACE_TRY(cursor.check("an object header"));
    if (version != 1)
      return corrupt({.expected = "an object header", .got = "version " + std::to_string(version)});
    if (16 + size > bytes.size()) return 16 + size;
    HEADRACE_TRY(read_messages(bytes.subspan(16, size)));
    return end_piece();
  }

  Result<uint64_t> first_new(Cursor& cursor, std::span<const std::byte> bytes) {
    cursor.skip(4);
    const uint8_t version = cursor.u8(), flags = cursor.u8();
    if (version != 2)
      return corrupt({.expected = "an object header of version 2", .got = std::to_string(version)});
    if ((flags & 32) != 0) cursor.skip(16);  // times
    if ((flags & 16) != 0) cursor.skip(4);   // thresholds of attribute storage
    has_order = (flags & 4) != 0;
    const uint64_t size = cursor.number(1 << (flags & 3)), begin = cursor.position();
    HEADRACE_TRY(cursor.check("an object header"));
    if (size > (uint64_t{1} << 40)) return corrupt("expected an object header below 1 TiB");
    if (begin + size + 4 > bytes.size()) return begin + size + 4;
    HEADRACE_TRY(check_checksum(bytes.first(begin + size + 4), "an object header"));
    HEADRACE_TRY(read_messages(bytes.subspan(begin, size)));
    return end_piece();
  }

  Status continued(std::span<const std::byte> bytes) {
    if (is_new) {
      HEADRACE_TRY(check_checksum(bytes, "the rest of an object header"));
      if (!Cursor(bytes).signature("OCHK")) return corrupt({.expected = "OCHK", .got = "other bytes"});
      bytes = bytes.subspan(4, bytes.size() - 8);
    }
    HEADRACE_TRY(read_messages(bytes));
    return end_piece().status();
  }

  Status read_messages(std::span<const std::byte> bytes) {
    const size_t head = is_new ? 4 + (has_order ? 2 : 0) : 8;
    Cursor cursor(bytes, place.sizes);
    while (cursor.left() >= head) {
      Message message;
      message.type = is_new ? cursor.u8() : cursor.u16();
      const uint16_t size = cursor.u16();
      message.is_shared = (cursor.u8() & 2) != 0;
      if (!is_new) cursor.skip(3);
      if (has_order) cursor.skip(2);
      message.body = cursor.text(size);
      HEADRACE_TRY(cursor.check("the messages of an object header"));
      if (message.type == kContinuation)
        HEADRACE_TRY(follow(message.cursor(place.sizes)));
      else if (is_wanted(message.type))
        messages.push_back(std::move(message));
    }
    return {};
  }

  Status follow(Cursor cursor) {
    const uint64_t address = cursor.address(), length = cursor.length();
    HEADRACE_TRY(cursor.check("an object header continuation"));
    if (++pieces > kMostPieces) return corrupt("expected an object header of at most 4096 pieces");
    if (length < 8)
      return corrupt({.expected = "a piece of an object header", .got = std::to_string(length) + " bytes"});
    ++waiting;
    fetches.ask_all(owner, place.base + address, length,
                    [self = shared_from_this()](std::span<const std::byte> bytes) {
                      --self->waiting;
                      return self->continued(bytes);
                    });
    return {};
  }

  Result<uint64_t> end_piece() {
    if (waiting == 0) HEADRACE_TRY(then(std::move(messages)));
    return uint64_t{0};
  }
};

}  // namespace

void read_header(Fetches& fetches, Fetches::Owner owner, Place place, uint64_t address, WithMessages then) {
  auto header = std::make_shared<Header>(fetches, owner, place, std::move(then));
  fetches.ask(owner, place.base + address, kGuess,
              [header](std::span<const std::byte> bytes) { return header->first(bytes); });
}

Result<uint64_t> shared_with(Cursor cursor) {
  const uint8_t version = cursor.u8(), type = cursor.u8();
  if (version == 1) cursor.skip(6);
  const bool is_in_heap = version == 3 && type == 1;
  if (version < 1 || version > 3 || is_in_heap)
    return Status(Code::unavailable, "cannot read messages that are shared through a table");
  const uint64_t address = cursor.address();
  HEADRACE_TRY(cursor.check("a shared message"));
  return address;
}

}  // namespace headrace::hdf5
