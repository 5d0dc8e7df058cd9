#include "headrace/core/status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace headrace {
namespace {

TEST(Status, KeepsWhatTheSystemSaidWhateverIsAdded) {
  const Status refused =
      Status(Code::io, "cannot open 'x'").refused(EACCES, "x").before("read: ").after(": sample 3");
  const Status copy = refused;
  EXPECT_EQ(copy.text(), "read: cannot open 'x': sample 3");
  EXPECT_EQ(copy.code(), Code::io);
  EXPECT_EQ(copy.error_number(), EACCES);
  EXPECT_EQ(copy.facts().file, "x");
  EXPECT_EQ(invalid("expected more").error_number(), 0);
  EXPECT_EQ(Status().refused(EACCES, "x").facts().file, "");
}

}  // namespace
}  // namespace headrace
