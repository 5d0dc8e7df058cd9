#include <algorithm>

#include "headrace/run/lower/pipeline.h"

namespace headrace {
namespace {

using Elastic = Pipeline::Elastic;

// Remaining batches of this rank in a pass of which `base` positions are consumed.
uint64_t batches(const Elastic& e, uint64_t base) {
  const uint64_t rows = shard_size(e.shard, e.total, base);
  if (rows == kInfinite) return kInfinite;
  return e.drop_last ? rows / e.batch : (rows + e.batch - 1) / e.batch;
}

// Positions of a pass consumed over all ranks after `count` of its batches; the whole pass after its
// last.
uint64_t pass_consumed(const Elastic& e, uint64_t base, uint64_t count) {
  if (count >= batches(e, base)) return e.total;
  const uint64_t rows = base + count * e.batch * e.world;
  return e.total == kInfinite ? rows : std::min(e.total, rows);
}

}  // namespace

uint64_t consumed_after(const Elastic& e, uint64_t from, uint64_t delivered) {
  if (e.form == Elastic::Form::elements) {
    const uint64_t base = from / e.unit;
    if (delivered >= shard_size(e.shard, e.total, base) && e.total != kInfinite) return e.total * e.unit;
    const uint64_t now = base + delivered * e.world;
    return (e.total == kInfinite ? now : std::min(e.total, now)) * e.unit;
  }
  if (e.total == kInfinite) return pass_consumed(e, from, delivered);
  if (e.total == 0) return 0;
  const uint64_t pass = from / e.total, base = from % e.total, first = batches(e, base);
  if (delivered < first || (e.times != 0 && pass + 1 >= e.times))
    return pass * e.total + pass_consumed(e, base, delivered);
  const uint64_t full = batches(e, 0), rest = delivered - first;
  if (full == 0) return (pass + 1) * e.total;
  const uint64_t in_pass = rest % full == 0 ? 0 : pass_consumed(e, 0, rest % full);
  return (pass + 1 + rest / full) * e.total + in_pass;
}

uint64_t elements_before(const Elastic& e, uint64_t consumed) {
  Level::Start outer, rows;
  starts_at(e, 0, consumed, outer, rows);
  if (e.form == Elastic::Form::batches)
    return e.total == kInfinite ? consumed / e.batch / e.world : outer.base;
  if (e.total == kInfinite) return outer.base / e.world;
  return shard_size(e.shard, e.total) - shard_size(e.shard, e.total, outer.base);
}

bool is_finished(const Elastic& e, uint64_t consumed) {
  if (e.total == kInfinite) return false;
  if (e.form == Elastic::Form::elements) return shard_size(e.shard, e.total, consumed / e.unit) == 0;
  if (e.times == 0 || (e.total > 0 && e.times > kInfinite / e.total)) return false;
  if (consumed >= e.total * e.times) return true;
  return consumed / e.total + 1 == e.times && batches(e, consumed % e.total) == 0;
}

void starts_at(const Elastic& e, uint64_t epoch, uint64_t consumed, Level::Start& outer, Level::Start& rows) {
  outer = {epoch, 0, 0}, rows = {epoch, 0, 0};
  if (e.form == Elastic::Form::elements) {
    outer.base = consumed / e.unit;
    return;
  }
  if (e.total == kInfinite) {
    rows.base = consumed;
    return;
  }
  if (e.total == 0) return;
  const uint64_t pass = consumed / e.total, base = consumed % e.total, full = batches(e, 0);
  rows = {epoch_of_pass(epoch, e.times, pass), base, full - batches(e, base)};
  outer.base = pass * full + rows.shift;
}

}  // namespace headrace
