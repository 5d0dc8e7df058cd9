"""Grain: the verbs of headrace_verbs.py that it has, without worker processes."""

import sys
from collections.abc import Callable

import grain.python as grain
import numpy as np

from .segment import serve
from .verb_data import FEW, MANY, plus_noise, plus_one, sequences

integers = grain.MapDataset.range(MANY)
few = grain.MapDataset.range(FEW)

VERBS: dict[str, Callable[[], grain.MapDataset]] = {
    "range": lambda: integers,
    "from_arrays": lambda: grain.MapDataset.source(np.arange(FEW)).repeat(),
    "map": lambda: integers.map(plus_one),
    "filter": lambda: integers.filter(lambda x: x != 7),
    "concatenate": lambda: grain.MapDataset.concatenate([integers, integers]),
    "mix": lambda: grain.MapDataset.mix([integers, integers], [0.3, 0.7]),
    "skip, take": lambda: integers[5 : MANY - 4],
    "shard": lambda: integers[1::4],
    "repeat": few.repeat,
    "shuffle": lambda: integers.shuffle(seed=1),
    "map, shuffle": lambda: integers.map(plus_one).shuffle(seed=1),
    "map in Python": lambda: integers.map(plus_one),
    "map in Python, with rng": lambda: integers.seed(1).random_map(plus_noise),
    "filter in Python": lambda: integers.filter(lambda x: x != 7),
}
BATCHES: dict[str, Callable[[], grain.MapDataset]] = {
    "batch of 16": lambda: integers.batch(16),
    "ragged_batch": lambda: grain.MapDataset.source(sequences()).repeat().batch(16, batch_fn=list),
}

if __name__ == "__main__":
    verb = sys.argv[1]
    made = (VERBS | BATCHES)[verb]().to_iter_dataset(grain.ReadOptions(num_threads=0))
    if verb in VERBS:
        serve(iter(made.batch(256)), 256)
    else:
        serve(iter(made), 16)
