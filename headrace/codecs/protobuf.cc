#include "headrace/codecs/protobuf.h"

#include <string>

namespace headrace {

Status WireReader::status(std::string_view what) const {
  if (!wanted_) return {};
  return corrupt("expected " + std::string(what) + ", but at byte " + std::to_string(at_ - begin_) +
                 " there is not " + wanted_);
}

}  // namespace headrace
