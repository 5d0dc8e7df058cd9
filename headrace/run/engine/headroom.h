// Memory that is left free for the parts under way: the bytes they read, the pixels they work on. How much
// they need is known only when one has found none, and that is dear: what others have read or made must go,
// and is read or made again. So what is left free grows whenever it was too little, and shrinks while all
// goes well.
#pragma once
#include <cstddef>

namespace headrace {

class Headroom {
 public:
  explicit Headroom(size_t budget) : budget_(budget) {}

  size_t bytes() const { return bytes_; }
  // A part found no memory. Several may, of work that was admitted before: that is one lesson.
  void was_short();
  void admitted();

 private:
  size_t budget_;
  size_t bytes_ = 0;
  size_t well_ = 0;        // tickets admitted since a part found no memory, or less was left free
  bool admitted_ = false;  // some since the last lesson
};

}  // namespace headrace
