// Conversion between states and cursors of the streams of a plan, with checks.
#pragma once
#include "headrace/run/lower/pipeline.h"
#include "headrace/run/state/iteration_state.h"

namespace headrace {

// Stores the position of the streams in a state, with the rank and world it is for. `fresh`: the cursor at
// the beginning of an epoch.
void put_cursor(Cursor now, const Cursor& fresh, const Pipeline& pipeline, IterationState& out);
// Stores the rank and world of a count of this rank's fixed part.
void put_rank(const Pipeline& pipeline, IterationState& out);
// The cursor for a state; empty for the beginning of an epoch.
Cursor cursor_of(const IterationState& where, const Cursor& fresh, const Pipeline& pipeline);
// An error for states of another number of ranks, another rank or another kind of order.
Status check_fits(const IterationState& where, const Pipeline& pipeline);

}  // namespace headrace
