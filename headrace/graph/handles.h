// The immutable parts of a dataset, by pointer: enough for code that only passes them on.
#pragma once
#include <memory>

namespace headrace {

class AnyOp;   // ops/op.h
class Source;  // formats/source.h
class Store;   // io/store.h
struct Node;   // graph/node.h
using OpPtr = std::shared_ptr<const AnyOp>;
using SourcePtr = std::shared_ptr<const Source>;
using NodePtr = std::shared_ptr<const Node>;

}  // namespace headrace
