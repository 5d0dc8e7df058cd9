// The order in which an interleave opens its readers: order verbs over the numbers of the readers, evaluated
// for one epoch as a list, since readers are files, of which there are few. A shard in it deals readers, as
// many as there are: no rank has one that another has, so some have one more. What ranks lack is evened out
// in samples (`even=`), where the readers know how many they have.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/graph/handles.h"

namespace headrace {

struct Shard;

// A reader that is opened, in the epoch of its verbs. `occurrence`: as in a sample's id.
struct OpenedReader {
  uint32_t reader = 0, occurrence = 0;
  uint64_t epoch = 0;
};

// Whether `order` has only verbs that move indices of a list, over `readers` numbers.
Status check_file_order(const Node& order, size_t readers);
// The openings of an epoch on this rank. REQUIRES: the check succeeded.
std::vector<OpenedReader> openings_in(const Node& order, uint64_t epoch);
// Whether a reader may be opened more than once in an epoch.
bool opens_again(const Node& order);
// Whether every epoch opens the same readers on this rank, in whichever order.
bool opens_the_same(const Node& order);

// Samples of an epoch: `own` of this rank's readers, `steps` of each rank after evening out, `all` of all
// readers that are opened.
struct Share {
  uint64_t own = 0, steps = 0, all = 0;
};
// `totals`: samples of each reader. An error if a rank has none, and others have some.
Result<Share> share_in(const Node& order, const std::vector<uint64_t>& totals, uint64_t epoch);
// An error if there are fewer openings than ranks.
Status check_ranks_have_files(const Node& order);

// The interleave of which a shard deals the readers; null if there is none.
const Node* interleave_of_dealt_files(const Node& root);
// Whether the elements are those of a rank's part of the data, so that ranks count and shuffle on their own:
// behind a fixed shard, and behind one that deals files.
bool is_of_one_rank(const Node& root);
// Whether each epoch has a known number of elements, the same on all ranks, though epochs may differ.
bool is_even_each_epoch(const Node& root);
// Elements of that epoch on this rank, where they are known before it; kInfinite, or nothing.
std::optional<uint64_t> size_in_epoch(const NodePtr& root, uint64_t epoch);

// The seed of a shuffle or sample of such elements: each rank draws an order of its own, so that neighbours
// in the data do not come at the same step of all ranks; rank 0 has that of the seed. Part of the contract:
// the first 64 bits of philox(key = seed, counter = (rank, 0xFA27, 0, 0)).
uint64_t seed_of_rank(uint64_t seed, uint32_t rank);

}  // namespace headrace
