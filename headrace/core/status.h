// Status and Result<T>: how a function reports that it could not do its work.
//
// A Status is one pointer, null on success, so returning one is free. It is a value: move it, read it, add
// context to it on the way up. Exceptions exist only at the Python boundary. Const methods may be called from
// several threads.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "headrace/core/error_facts.h"

namespace headrace {

enum class Code : unsigned char {
  ok,
  invalid,      // an invalid request: ValueError
  corrupt,      // damaged data: headrace.CorruptSample
  not_found,    // a file or a name does not exist: FileNotFoundError
  io,           // a failed system call: OSError
  exhausted,    // a limit or the memory budget: MemoryError
  unavailable,  // not built in, or not supported: NotImplementedError
  cancelled,    // the run was stopped
  foreign,      // a user's function failed; the Python side holds its exception
  internal,     // a bug in Headrace
};

std::string_view code_name(Code code);

// What was expected and what came instead: "expected EXPECTED, got GOT; FIX".
struct Mismatch {
  std::string expected, got;
  std::string fix = {};  // what to do about it; may be empty
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  // Templates, so that `{.expected = …, .got = …}` can only be a Mismatch.
  template <class Text>
    requires std::is_convertible_v<Text, std::string>
  Status(Code code, Text&& text)
      : rep_(std::make_unique<Rep>(Rep{code, std::string(std::forward<Text>(text)), 0, {}})) {}
  Status(Code code, Mismatch mismatch);
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) { return *this = Status(other); }
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return !rep_; }
  Code code() const { return rep_ ? rep_->code : Code::ok; }
  std::string_view text() const { return rep_ ? std::string_view(rep_->text) : std::string_view(); }

  // What else is known. Code that decides by an error looks here and never into the text.
  const ErrorFacts& facts() const;
  // Of a failed system call: its errno; else 0. The path is `facts().file`.
  int error_number() const { return rep_ ? rep_->error_number : 0; }

  // The same error with context before or after its text. Keeps everything else; does nothing when ok.
  Status before(std::string_view context) &&;
  Status after(std::string_view context) &&;
  // The same error, of which more is known. What is known already stays, as it is nearer to the cause.
  Status with(const ErrorFacts& facts) &&;
  // The same error, with the system's errno and path.
  Status refused(int error_number, std::string_view path) &&;

  // The same error, with facts that its text shows too; free when ok:
  Status in_file(std::string_view path) &&;             // "'PATH': …"
  Status in_format(std::string_view name) &&;           // "NAME: …"
  Status in_op(std::string_view name) &&;               // "NAME: …"
  Status in_option(std::string_view name) &&;           // "NAME: …"
  Status in_field(std::string_view name) &&;            // "field 'NAME': …"
  Status of_field(std::string_view name) &&;            // "'NAME': …"
  Status in_column(std::string_view name) &&;           // "column 'NAME': …", which is a field
  Status at_byte(uint64_t byte) &&;                     // "… (at byte BYTE)"
  Status at_record(uint64_t record, uint64_t byte) &&;  // "… (record RECORD at byte BYTE)"
  Status at_place(std::string_view place) &&;           // "… (PLACE)"; nothing if a place is known

 private:
  struct Rep {
    Code code;
    std::string text;
    int error_number = 0;
    ErrorFacts facts = {};
  };
  std::unique_ptr<Rep> rep_;
};

template <class Text>
  requires std::is_convertible_v<Text, std::string>
Status invalid(Text&& text) {
  return {Code::invalid, std::forward<Text>(text)};
}
inline Status invalid(Mismatch mismatch) { return {Code::invalid, std::move(mismatch)}; }
template <class Text>
  requires std::is_convertible_v<Text, std::string>
Status corrupt(Text&& text) {
  return {Code::corrupt, std::forward<Text>(text)};
}
inline Status corrupt(Mismatch mismatch) { return {Code::corrupt, std::move(mismatch)}; }
inline Status internal_error(std::string text) { return {Code::internal, std::move(text)}; }

// A T, or the reason why there is none.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {}
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, Status> &&
             !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : v_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return v_.index() == 0; }
  T& operator*() & { return *std::get_if<0>(&v_); }
  const T& operator*() const& { return *std::get_if<0>(&v_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&v_)); }
  T* operator->() { return std::get_if<0>(&v_); }
  const T* operator->() const { return std::get_if<0>(&v_); }
  Status status() const { return ok() ? Status() : *std::get_if<1>(&v_); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace headrace

// Return from the function when `expr` is not ok. The only two macros of the public headers.
#define HEADRACE_TRY(expr)                                                  \
  do {                                                                      \
    if (::headrace::Status status_ = (expr); !status_.ok()) return status_; \
  } while (0)

#define HEADRACE_CONCAT_(a, b) a##b
#define HEADRACE_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                     \
  if (!tmp.ok()) return tmp.status();    \
  lhs = *std::move(tmp)
#define HEADRACE_CONCAT(a, b) HEADRACE_CONCAT_(a, b)
// Declare or assign `lhs` from a Result, or return its Status.
#define HEADRACE_ASSIGN(lhs, expr) HEADRACE_ASSIGN_(HEADRACE_CONCAT(result_, __LINE__), lhs, expr)
