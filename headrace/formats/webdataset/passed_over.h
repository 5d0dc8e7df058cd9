// Members of a tar that become part of no field: counted while it is indexed, so that they are reported once.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/value.h"

namespace headrace {

class PassedOver {
 public:
  // A link under the name of a sample's member; a file whose name has no suffix; a member of a later sample
  // with a suffix that the first sample lacks.
  void add_link(std::string_view member) { add(links_, member); }
  void add_without_suffix(std::string_view member) { add(without_suffix_, member); }
  void add_suffix(std::string_view suffix);
  void add(const PassedOver& other);  // of another tar
  bool has_links() const { return links_.count > 0; }

  // "" if there is nothing. Unpacking takes any text.
  std::string pack() const;
  static PassedOver unpack(std::string_view text);

  // What to warn of; `first`: the suffixes of the first sample. `chosen`: the user named the fields.
  std::vector<std::string> notes(const std::vector<std::string>& first, bool chosen) const;

 private:
  struct Group {
    uint64_t count = 0;
    std::string name;  // of the first, printable
  };
  static void add(Group& group, std::string_view member);

  Group links_, without_suffix_;
  std::set<std::string, std::less<>> suffixes_;  // in lower case
};

}  // namespace headrace
