"""Headrace: one verb on small elements, as batches of 256. The argument names the verb."""

import ctypes
import sys
from collections.abc import Callable

import numpy as np

import headrace as hr
from headrace import ops

from .segment import serve
from .verb_data import FEW, MANY, SIZES, plus_noise, plus_one, sequences

integers = hr.range(MANY)
few = hr.range(FEW)
labs = ctypes.CDLL("libc.so.6").labs
labs.argtypes, labs.restype = [ctypes.c_long], ctypes.c_long
uneven = hr.from_list(sequences()).repeat()

# Pipelines that end with a batch of batches also give 256 integers.
VERBS: dict[str, Callable[[], hr.Dataset]] = {
    "range": lambda: integers,
    "from_arrays": lambda: hr.from_arrays(np.arange(FEW)).repeat(),
    "map": lambda: integers.map(lambda x: x + 1),
    "map, shuffle": lambda: integers.map(lambda x: x + 1).shuffle(seed=1),
    "filter": lambda: integers.filter(lambda x: x != 7),
    "interleave": lambda: hr.interleave([integers] * 8, cycle_length=4, block_length=4),
    "concatenate": lambda: integers.concatenate(integers),
    "zip": lambda: integers.zip(integers),
    "enumerate": integers.enumerate,
    "mix": lambda: hr.mix([integers, integers], weights=[0.3, 0.7]),
    "choose": lambda: hr.choose([integers, integers], np.arange(FEW) % 2).repeat(),
    "skip, take": lambda: integers.skip(5).take(MANY - 9),
    "shard": lambda: integers.shard(1, 4),
    "repeat": few.repeat,
    "shuffle": lambda: integers.shuffle(seed=1),
    "shuffle in a window": lambda: integers.shuffle(seed=1, window=1000),
    "sample": lambda: few.sample(np.arange(1.0, FEW + 1)).repeat(),
    "sort_by": lambda: few.sort_by(-np.arange(FEW)).repeat(),
    "scan": lambda: integers.scan(0, lambda state, x: (state + x, state)),
    "take_while": lambda: integers.take_while(lambda x: x >= 0),
    "unique": lambda: few.unique().repeat(),
    "cache": lambda: few.map(lambda x: x + 1).cache().repeat(),
    "unbatch": lambda: hr.from_arrays(np.arange(FEW).reshape(-1, 16)).repeat().unbatch(),
    "map of a C function": lambda: integers.map(labs),
    "map in Python": lambda: integers.map(plus_one, python="threads"),
    "map in Python, with rng": lambda: integers.map(plus_noise, python="threads"),
    "filter in Python": lambda: integers.filter(lambda x: x != 7, python="threads"),
    "from_generator": lambda: hr.from_generator(lambda: iter(range(MANY))),
}
BATCHES: dict[str, Callable[[], hr.Dataset]] = {
    "batch of 16": lambda: integers.batch(16),
    "rebatch": lambda: integers.batch(4).rebatch(16),
    "window": lambda: integers.window(16),
    "group_by_window": lambda: integers.group_by_window(lambda x: ops.cast(x > 7, dtype="i64"), 16),
    "padded_batch": lambda: uneven.padded_batch(16, [SIZES]),
    "ragged_batch": lambda: uneven.batch(16, ragged=True),
    "bucket_by_length": lambda: uneven.bucket_by_length(
        ops.length, boundaries=[4, 6], batch_sizes=16, shapes=[SIZES]
    ),
    "pack": lambda: uneven.pack(64),
}


def batches(verb: str) -> hr.Dataset:
    made = VERBS[verb]().batch(256) if verb in VERBS else BATCHES[verb]()
    return made.options(workers=1)


if __name__ == "__main__":
    verb = sys.argv[1]
    serve(iter(batches(verb).numpy()), 256 if verb in VERBS else 16)
