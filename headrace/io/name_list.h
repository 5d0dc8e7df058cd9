// Many names in little memory: their bytes one after the other, each terminated by a NUL, and eight bytes per
// name.
//
// For listings of millions of files, where a std::string each would take three times the memory. A name holds
// no NUL. A view is valid until the next `add`. Const methods may be called from several threads.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class Names {
 public:
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + begin, ends_[i] - 1 - begin};
  }
  // REQUIRES: no NUL in `name`.
  void add(std::string_view name) {
    bytes_.append(name).push_back('\0');
    ends_.push_back(bytes_.size());
  }
  // The name `folder` + '/' + `name`, or `name` alone in the root, written without a temporary.
  void add(std::string_view folder, std::string_view name) {
    if (!folder.empty()) bytes_.append(folder).push_back('/');
    add(name);
  }
  // Frees what growing reserved.
  void shrink() { bytes_.shrink_to_fit(), ends_.shrink_to_fit(); }

  // All names with their NULs: to hash, to store. `from_text` is the inverse; false when the text does not
  // end with a NUL.
  const std::string& text() const { return bytes_; }
  static bool from_text(std::string text, Names& out) {
    if (!text.empty() && text.back() != '\0') return false;
    out.ends_.clear();
    for (size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at + 1))
      out.ends_.push_back(at + 1);
    out.bytes_ = std::move(text);
    return true;
  }
  bool operator==(const Names& other) const { return bytes_ == other.bytes_; }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace headrace
