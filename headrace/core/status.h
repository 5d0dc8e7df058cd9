// Status and Result<T>: how a function reports that it could not do its work.
//
// A Status is one pointer, null on success, so returning one is free. It is a value: move it, read it, add
// context to it on the way up. Exceptions exist only at the Python boundary. Const methods may be called from
// several threads.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : rep_(std::make_unique<Rep>(Rep{code, std::move(text), 0, {}})) {}
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) { return *this = Status(other); }
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return !rep_; }
  Code code() const { return rep_ ? rep_->code : Code::ok; }
  std::string_view text() const { return rep_ ? std::string_view(rep_->text) : std::string_view(); }

  // Of a failed system call: its errno and the path; else 0 and "".
  int error_number() const { return rep_ ? rep_->error_number : 0; }
  std::string_view path() const { return rep_ ? std::string_view(rep_->path) : std::string_view(); }

  // The same error with context before or after its text. Keeps everything else; does nothing when ok.
  Status before(std::string_view fact) &&;
  Status after(std::string_view fact) &&;
  // The same error, with the system's errno and path.
  Status refused(int error_number, std::string_view path) &&;

 private:
  struct Rep {
    Code code;
    std::string text;
    int error_number = 0;
    std::string path;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status invalid(std::string text) { return {Code::invalid, std::move(text)}; }
inline Status corrupt(std::string text) { return {Code::corrupt, std::move(text)}; }
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
