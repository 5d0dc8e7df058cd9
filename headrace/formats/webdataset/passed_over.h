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
  // A sample, whose key may begin with the name of a split: "train" of "train/0001".
  void add_key(std::string_view key);
  // Behind the end of the tar another one follows, as `cat a.tar b.tar` leaves it.
  void add_next_tar() { ++next_tars_; }
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
  std::set<std::string, std::less<>>
      splits_;               // of this tar; of several, the first two or more in one of them
  std::string last_folder_;  // of a key
  bool has_other_keys_ = false;
  uint64_t next_tars_ = 0;
  std::set<std::string, std::less<>> suffixes_;  // in lower case
};

}  // namespace headrace
