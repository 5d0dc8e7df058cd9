// The names of the numbers in a cursor. A stream describes them once, in the order of save(); a StateForm
// uses the description to write a cursor as a named value, and to read such a value back into a cursor.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/value.h"
#include "headrace/run/streams/stream.h"

namespace headrace {

// The error of a member of a state, named by its path: what it must be, and what came; null: it is missing.
Status wrong_in_state(std::string_view path, std::string expected, const Value* got);
// "a whole number of at least 0", or "from 0 to 9".
std::string range_text(uint64_t most, uint64_t least = 0);

class StateForm {
 public:
  // Names the numbers of a cursor. The value is at named().
  explicit StateForm(CursorReader& numbers) : from_(&numbers) {}
  // Appends the numbers of a named value to a cursor. An error is at status(), with the path to the member.
  // `named` must outlive the form.
  StateForm(const Value& named, Cursor& numbers) : read_(&named), to_(&numbers) {}

  // What writes the following members, and the version of their meaning. A value of another verb, or of a
  // newer version, is an error.
  void stream(std::string_view verb, int64_t version = 1);
  // Whether the value that is read is of this verb; true when a cursor is named and `is_there`.
  bool is(std::string_view verb, bool is_there) const;

  void nothing();  // a 0 that the value does not have: a list without items
  // A number from `least` to `most`; others are errors where a value is read.
  uint64_t number(std::string_view name, uint64_t most = kInfinite, uint64_t least = 0);
  uint64_t any_number(std::string_view name);  // a negative one, too
  // An error where a value is read: the member is there, but is not `expected`.
  void refuse(std::string_view name, std::string_view expected);
  bool flag(std::string_view name);
  void bytes(std::string_view name);   // as put_bytes() has them
  void tensor(std::string_view name);  // as put_tensor() has them
  // A list of objects; `item(form)` describes one. `has_count`: the cursor has their number before them.
  template <class F> void list(std::string_view name, size_t count, bool has_count, F&& item) {
    if (has_count)
      count = counted(name, count);
    else
      check_length(name, count);
    Value::List made;
    for (size_t i = 0; i < count && good(); ++i) {
      StateForm one = enter(name, i);
      item(one);
      one.finish();
      if (names())
        made.push_back(std::move(one.named_));
      else
        status_ = one.status_;
    }
    if (names()) named_.set(name, std::move(made));
  }
  // A list of numbers up to `most`, with their number before them.
  void numbers(std::string_view name, uint64_t most = kInfinite);
  void child(std::string_view name, const Stream& stream);
  void finish();  // an error where the value has members that were not read
  void children(std::string_view name, const std::vector<StreamPtr>& streams);

  // What the cursor has next, without taking it. REQUIRES: a cursor is named.
  bool good() const { return from_ ? from_->good() : status_.ok(); }
  bool names() const { return from_ != nullptr; }
  uint64_t peek() const { return from_->peek(); }
  Value& named() { return named_; }
  const Status& status() const { return status_; }

 private:
  size_t counted(std::string_view name, size_t count);
  void check_length(std::string_view name, size_t count);
  StateForm enter(std::string_view name, size_t item) const;
  const Value* member(std::string_view name, std::string_view expected);
  uint64_t number_of(std::string_view name, std::string_view expected, uint64_t most, int64_t least);
  void fail(std::string_view name, std::string_view expected, const Value* got);

  CursorReader* from_ = nullptr;
  Value named_{Value::Object()};
  const Value* read_ = nullptr;
  std::vector<std::string_view> known_;  // members that were read
  Cursor* to_ = nullptr;
  Status status_;
  std::string path_;
};

}  // namespace headrace
