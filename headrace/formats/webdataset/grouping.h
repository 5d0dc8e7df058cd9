// Groups members that come one by one into samples. Belongs to one walk.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/webdataset/first_members.h"
#include "headrace/formats/webdataset/passed_over.h"
#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {

class Grouping {
 public:
  // The member whose first header is at `position`.
  Status take(const TarHead& head, uint64_t position);

  // An array of the first sample whose head is still to be read.
  struct Array {
    size_t member = 0;
    uint64_t offset = 0, size = 0;  // of its data
  };
  const std::vector<Array>& arrays() const { return arrays_; }
  void look_at(const Array& array, std::span<const std::byte> head) {
    look_at_array(head, first_[array.member]);
  }

  // Nothing can be found from `offset` on. Damage becomes an entry of the index; other errors are returned.
  // The last sample may lack members then, and is lost too unless it `is_closed`.
  Status lose(Status why, uint64_t offset, bool is_closed);
  // Whether the member, or the end, that follows closes the last sample.
  bool is_closed_by(const TarHead& next) const;

  void take_next_tar() { passed_over_.add_next_tar(); }
  FileIndex finish(std::string points);
  uint64_t members() const { return members_; }
  const std::vector<RecordExtent>& samples() const { return index_.records; }

 private:
  uint64_t members_ = 0;
  std::string key_;
  size_t in_sample_ = 0;  // members of the last sample
  std::vector<FirstMember> first_;
  std::vector<Array> arrays_;
  PassedOver passed_over_;
  FileIndex index_;
};

// Adds which member it was.
Status at_member(Status status, uint64_t member, uint64_t position);

}  // namespace headrace
