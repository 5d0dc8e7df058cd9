// Memory that is left free for parts in progress: the bytes they read, the pixels they work on. How much they
// need is only known when a part has found no memory, which is expensive: data of other parts is dropped and
// read or made again. So the headroom grows whenever it was too small, and shrinks while there is enough.
#pragma once
#include <cstddef>

namespace headrace {

class Headroom {
 public:
  explicit Headroom(size_t budget) : budget_(budget) {}

  size_t bytes() const { return bytes_; }
  // A part found no memory. Several failures of work admitted before the last one count as one.
  void was_short();
  void admitted();

 private:
  size_t budget_;
  size_t bytes_ = 0;
  size_t well_ = 0;        // tickets admitted since a part found no memory, or since the headroom shrank
  bool admitted_ = false;  // a ticket was admitted since the last failure
};

}  // namespace headrace
