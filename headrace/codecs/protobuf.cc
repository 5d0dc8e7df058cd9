#include "headrace/codecs/protobuf.h"

#include <string>

namespace headrace {

Status WireReader::status(std::string_view what) const {
  if (!wanted_) return {};
  return corrupt("wants " + std::string(what) + ", there is not " + wanted_ + " at byte " +
                 std::to_string(at_ - begin_) + " of it");
}

}  // namespace headrace
