// The operators that run a chain of decode_image(match="fast"), crops, flips and one resize. The graph
// inserts them (graph/passes/planar.h); they have no name of their own in plans, reports and messages.
//
//   header, whole = read_image(bytes)           # no pixel is decoded
//   geometry      = place(whole)                # one for each operator of the chain, with its own draws
//   mask, ...     = follow(geometry of the image, mask, ...)  # by the draws of place()
//   image, ...    = decode_resampled(bytes, header, geometry, ...)
#pragma once
#include <span>

#include "headrace/codecs/entropy_points.h"
#include "headrace/ops/op.h"

namespace headrace {

// Whether `op` is decode_image(match="fast").
bool decodes_fast(const AnyOp& op);

// An ImageHeader between two operators is a tensor of its bytes.
TensorSpec header_spec();

// encoded image -> its header, the Geometry of the whole of it. REQUIRES: decodes_fast(*decode).
OpPtr make_read_image(const OpPtr& decode);

// Geometry, bound parameters of `op` -> Geometry. REQUIRES: op->placing() is not none.
OpPtr make_place(const OpPtr& op);

// Geometry of an image, its masks, bound parameters of `op` -> the masks as `op` produces them. `counted`:
// whether this call counts for the operator. REQUIRES: op->placing() is not none.
OpPtr make_follow(const OpPtr& op, bool counted);

// encoded image, header, n of Geometry -> n images u8 (H, W, C). REQUIRES: decodes_fast(*decode).
OpPtr make_decode_resampled(const OpPtr& decode, size_t images);

// Whether `op` comes from make_decode_resampled and `normalize` from make_op("normalize", ...), and output
// `i` is still pixels.
bool can_normalize(const AnyOp& op, size_t i, const AnyOp& normalize);

// The same with output `i` normalised. REQUIRES: can_normalize().
OpPtr with_normalize(const OpPtr& op, size_t i, const OpPtr& normalize);

// The same with a store that saves it work; `op` itself when it is not from make_decode_resampled.
OpPtr with_point_store(const OpPtr& op, std::shared_ptr<PointStore> store);

}  // namespace headrace
