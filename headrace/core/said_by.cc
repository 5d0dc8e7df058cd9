#include "headrace/core/said_by.h"

#include <new>
#include <stdexcept>
#include <system_error>

namespace headrace {

Status said_by(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::length_error*>(&error))
    return {
        Code::exhausted,
        "no memory left: the system gives this process no more (see `ulimit -v`, and the memory limit of the "
        "container). A smaller batch, window or options(memory_budget=), and fewer workers, need less"};
  const auto* const refused = dynamic_cast<const std::system_error*>(&error);
  if (refused && refused->code() == std::errc::resource_unavailable_try_again)
    return Status(Code::io, "cannot start a thread: " + refused->code().message() +
                                ". The system gives this user or container no more threads (see `ulimit -u`, "
                                "and pids.max of "
                                "the container). options(workers=0) reads and computes without threads")
        .refused(refused->code().value(), "");
  return internal_error(error.what());
}

}  // namespace headrace
