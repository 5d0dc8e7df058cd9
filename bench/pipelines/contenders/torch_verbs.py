"""torch: the verbs of headrace_verbs.py that its DataLoader has, without worker processes, its fastest for small elements."""

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    WeightedRandomSampler,
)

from .segment import serve
from .verb_data import FEW, MANY, plus_noise, plus_one, sequences


class Range(Dataset[Any]):
    """A function applied to 0, 1, and so on."""

    def __init__(self, function: Callable[[int], Any] = int, size: int = MANY) -> None:
        self.function, self.size = function, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return self.function(index)


class Stream(IterableDataset[Any]):
    def __init__(self, made: Iterator[Any]) -> None:
        self.made = made

    def __iter__(self) -> Iterator[Any]:
        return self.made


RNG = np.random.default_rng(1)


def noisy(x: int) -> Any:
    return plus_noise(x, RNG)


def randomly(data: Dataset[Any]) -> Any:
    return DataLoader(data, 256, sampler=RandomSampler(data, replacement=True, num_samples=10**12))  # type: ignore[arg-type]


def in_order(data: Dataset[Any]) -> Any:
    return DataLoader(data, 256)


integers = itertools.count()
weights = torch.arange(1, FEW + 1, dtype=torch.float64)
VERBS: dict[str, Callable[[], Any]] = {
    "range": lambda: in_order(Range()),
    "from_arrays": lambda: in_order(Range(np.arange(FEW).__getitem__, FEW)),
    "map": lambda: in_order(Range(plus_one)),
    "filter": lambda: in_order(Stream(filter(lambda x: x != 7, integers))),
    "concatenate": lambda: in_order(ConcatDataset([Range(), Range()])),
    "shuffle": lambda: randomly(Range()),
    "map, shuffle": lambda: randomly(Range(plus_one)),
    "sample": lambda: DataLoader(Range(size=FEW), 256, sampler=WeightedRandomSampler(weights, 1 << 20)),  # type: ignore[arg-type]
    "map in Python": lambda: in_order(Range(plus_one)),
    "map in Python, with rng": lambda: in_order(Range(noisy)),
    "filter in Python": lambda: in_order(Stream(filter(lambda x: x != 7, integers))),
    "from_generator": lambda: in_order(Stream(integers)),
}
rows = [torch.from_numpy(row) for row in sequences()]
uneven = Range(lambda index: rows[index % len(rows)])
BATCHES: dict[str, Callable[[], Any]] = {
    "batch of 16": lambda: DataLoader(Range(), 16),
    "padded_batch": lambda: DataLoader(
        uneven, 16, collate_fn=lambda batch: torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)
    ),
    "ragged_batch": lambda: DataLoader(uneven, 16, collate_fn=list),
}


def forever(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


if __name__ == "__main__":
    torch.set_num_threads(1)
    verb = sys.argv[1]
    if verb in VERBS:
        serve(forever(VERBS[verb]()), 256)
    else:
        serve(forever(BATCHES[verb]()), 16)
