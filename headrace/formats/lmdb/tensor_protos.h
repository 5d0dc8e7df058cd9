// Caffe2's TensorProtos, the protobuf message that its LMDB files hold: a few tensors, of which the first is
// an image, encoded or raw, and the second its label.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"

namespace headrace {

// What the tensors of all values of a source must be, as the first one's are: dtype and rank; `bytes` is one
// string. Tensors of one value and at most one dimension are scalars.
using TensorProtosKind = std::vector<TensorSpec>;

// Empty when the message is none.
TensorProtosKind tensor_protos_kind(std::span<const std::byte> message);

// As an index keeps it. Back: empty when the text is none.
std::string pack_tensor_protos(const TensorProtosKind& kind);
TensorProtosKind unpack_tensor_protos(std::string_view text);

// image, label, box, tensor_3 …
Schema tensor_protos_schema(const TensorProtosKind& kind);
// `value`: bytes, which strings and tensors of u8 share.
Status read_tensor_protos(const Tensor& value, const TensorProtosKind& kind, std::vector<Tensor>& fields);

}  // namespace headrace
