// Caffe2's TensorProtos, the protobuf message in its LMDB files: a few tensors, the first an image, encoded
// or raw, the second its label.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"

namespace headrace {

// Dtype and rank of the tensors of the first value; all values of a source must have them. `bytes` is one
// string. Tensors of one value and at most one dimension are scalars.
using TensorProtosKind = std::vector<TensorSpec>;

// Empty when the message is not a TensorProtos.
TensorProtosKind tensor_protos_kind(std::span<const std::byte> message);

// As an index keeps it. Unpacking gives an empty one for any other text.
std::string pack_tensor_protos(const TensorProtosKind& kind);
TensorProtosKind unpack_tensor_protos(std::string_view text);

// image, label, box, tensor_3 …
Schema tensor_protos_schema(const TensorProtosKind& kind);
// `value`: bytes, which strings and tensors of uint8 share.
Status read_tensor_protos(const Tensor& value, const TensorProtosKind& kind, std::vector<Tensor>& fields);

}  // namespace headrace
