// Where a run stands, as its plan has it: the cursor of its streams, whose that is, and whether it fits.
#pragma once
#include "headrace/run/lower/pipeline.h"
#include "headrace/run/state/iteration_state.h"

namespace headrace {

// Where the streams stand, and whose that is. `fresh`: the cursor of an epoch's beginning.
void put_cursor(Cursor now, const Cursor& fresh, const Pipeline& pipeline, IterationState& out);
// The cursor that a state means; empty for the beginning of an epoch.
Cursor cursor_of(const IterationState& where, const Cursor& fresh, const Pipeline& pipeline);
// Refuses what another number of ranks, another rank or another kind of order left behind.
Status check_fits(const IterationState& where, const Pipeline& pipeline);

}  // namespace headrace
