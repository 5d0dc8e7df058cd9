// The meaning of decode_image(match="fast"): where crops, flips and one operator that resamples follow it,
// the image is not decoded and then resampled, but resampled as stored, a JPEG plane by plane
// (codecs/resampled.h).
//
// Not a rewrite: it determines bytes, so it also applies with every rewrite switched off, and a chain is the
// same however it is spread over maps and verbs that only move indices. docs/decisions/0007 defines where a
// chain ends.
#pragma once
#include <set>
#include <string>

#include "headrace/graph/node.h"

namespace headrace {

// The plan with every such chain replaced by the operators of ops/decode_resampled.h. `notes` gets a line for
// each, for explain(). REQUIRES: numbered; steps keep their ordinals.
NodePtr with_planar_chains(const NodePtr& root, std::set<std::string>& notes);

// The same for one program. `followed` gets the ordinals of the operators that are now part of chains.
Program with_planar_chains(const Program& program, std::set<uint32_t>& followed,
                           std::set<std::string>& notes);

}  // namespace headrace
