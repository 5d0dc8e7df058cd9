// Which pages the process has in its memory at an address: the kernel brings more than was looked at, how
// much it alone knows. Any thread.
#pragma once
#include <cstdint>
#include <span>

namespace headrace {

// present[i]: whether the i-th page from `begin` on is. False, and nothing is said, where the system does not
// tell. Some 7 microseconds for 2 MiB. REQUIRES: begin lies on a page.
bool look_up_pages(uintptr_t begin, uintptr_t page, std::span<bool> present);

}  // namespace headrace
