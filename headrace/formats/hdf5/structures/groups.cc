#include "headrace/formats/hdf5/structures/groups.h"

#include <memory>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/structures/dense_objects.h"

namespace headrace::hdf5 {
namespace {

// Old groups: a B-tree whose leaves point to symbol nodes, whose names are in a local heap.
struct SymbolTable : std::enable_shared_from_this<SymbolTable> {
  SymbolTable(Fetches& all, Fetches::Owner whose, Place where, WithLink then_do)
      : fetches(all), owner(whose), place(where), then(std::move(then_do)) {}

  Fetches& fetches;
  Fetches::Owner owner;
  Place place;
  WithLink then;
  uint64_t tree = kNowhere;
  std::string names;

  static constexpr uint64_t kGuess = 1024;
  static constexpr int kAnyLevel = -1;

  void start(uint64_t tree_address, uint64_t heap) {
    tree = tree_address;
    const uint64_t length = 8 + static_cast<uint64_t>(2 * place.sizes.length + place.sizes.address);
    fetches.ask_all(
        owner, saturating_add(place.base, heap), length,
        [self = shared_from_this()](std::span<const std::byte> bytes) { return self->heap(bytes); });
  }

  Status heap(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, place.sizes);
    if (!cursor.signature("HEAP")) return corrupt({.expected = "a local heap", .got = "other bytes"});
    cursor.skip(4);
    const uint64_t length = cursor.length();
    (void)cursor.length();  // offset of its free list
    const uint64_t address = cursor.address();
    HEADRACE_TRY(cursor.check("a local heap"));
    fetches.ask_all(owner, saturating_add(place.base, address), length,
                    [self = shared_from_this()](std::span<const std::byte> text) {
                      self->names.assign(reinterpret_cast<const char*>(text.data()), text.size());
                      if (self->tree != kNowhere) self->ask(self->tree, kAnyLevel);
                      return Status();
                    });
    return {};
  }

  void ask(uint64_t address, int level) {
    fetches.ask(owner, saturating_add(place.base, address), kGuess,
                [self = shared_from_this(), level](std::span<const std::byte> bytes) {
                  return self->node(bytes, level);
                });
  }

  Result<uint64_t> node(std::span<const std::byte> bytes, int level) {
    Cursor cursor(bytes, place.sizes);
    if (bytes.size() >= 4 && Cursor(bytes).signature("SNOD")) return symbols(bytes);
    const bool is_tree = cursor.signature("TREE");
    const uint8_t type = cursor.u8(), stated = cursor.u8();
    const uint64_t entries = cursor.u16();
    (void)cursor.address(), (void)cursor.address();  // siblings
    HEADRACE_TRY(cursor.check("a group's B-tree"));
    if (!is_tree || type != 0) return corrupt({.expected = "a group's B-tree", .got = "other bytes"});
    if (level != kAnyLevel && stated != level)
      return corrupt(
          {.expected = "a B-tree node of level " + std::to_string(level), .got = std::to_string(stated)});
    const auto both = static_cast<uint64_t>(place.sizes.length + place.sizes.address);
    const uint64_t needs = cursor.position() + entries * both;
    if (needs > bytes.size()) return needs;
    for (uint64_t i = 0; i < entries; ++i) {
      (void)cursor.length();  // the key
      ask(cursor.address(), stated - 1);
    }
    return uint64_t{0};
  }

  Result<uint64_t> symbols(std::span<const std::byte> bytes) {
    Cursor cursor(bytes, place.sizes);
    cursor.skip(4 + 2);
    const uint64_t count = cursor.u16();
    HEADRACE_TRY(cursor.check("a symbol node"));
    const uint64_t needs = 8 + count * (24 + static_cast<uint64_t>(place.sizes.length + place.sizes.address));
    if (needs > bytes.size()) return needs;
    for (uint64_t i = 0; i < count; ++i) {
      Link link;
      HEADRACE_ASSIGN(link.name, text_at(cursor.length()));
      link.address = cursor.address();
      const bool is_soft = cursor.u32() == 2;
      cursor.skip(4);
      const uint32_t target = cursor.u32();
      cursor.skip(12);
      if (is_soft) {
        link.kind = Link::Kind::soft;
        HEADRACE_ASSIGN(link.target, text_at(target));
      }
      HEADRACE_TRY(then(link));
    }
    return uint64_t{0};
  }

  Result<std::string> text_at(uint64_t offset) const {
    const size_t end = offset < names.size() ? names.find('\0', offset) : std::string::npos;
    if (end == std::string::npos)
      return corrupt({.expected = "a name in a heap of " + std::to_string(names.size()) + " bytes",
                      .got = "one at byte " + std::to_string(offset) + " of it"});
    return names.substr(offset, end - offset);
  }
};

}  // namespace

Result<bool> read_links(Fetches& fetches, Fetches::Owner owner, Place place,
                        const std::vector<Message>& messages, WithLink then) {
  bool is_group = false;
  for (const Message& message : messages) {
    Cursor cursor = message.cursor(place.sizes);
    if (message.type == kSymbolTable) {
      is_group = true;
      const uint64_t tree = cursor.address(), heap = cursor.address();
      HEADRACE_TRY(cursor.check("a symbol table"));
      std::make_shared<SymbolTable>(fetches, owner, place, then)->start(tree, heap);
    } else if (message.type == kLink) {
      is_group = true;
      HEADRACE_ASSIGN(const Link link, read_link(cursor));
      HEADRACE_TRY(then(link));
    } else if (message.type == kLinkInfo) {
      is_group = true;
      cursor.skip(1);
      if ((cursor.u8() & 1) != 0) cursor.skip(8);  // the next creation order
      const uint64_t heap = cursor.address(), tree = cursor.address();
      HEADRACE_TRY(cursor.check("a group's links"));
      if (heap != kNowhere && tree != kNowhere)
        read_dense_objects(fetches, owner, place, heap, tree, Dense::links, [then](Cursor object) -> Status {
          HEADRACE_ASSIGN(const Link link, read_link(object));
          return then(link);
        });
    }
  }
  return is_group;
}

}  // namespace headrace::hdf5
