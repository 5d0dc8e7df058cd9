"""torch DataLoader in the process (no workers: its fastest for tiny elements), random order, batch 256."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from .segment import serve

torch.set_num_threads(1)


class Range(Dataset[int]):
    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> int:
        return index + 1


def batches() -> Iterator[Any]:
    data = Range()
    sampler = RandomSampler(data, replacement=True, num_samples=10**12)
    yield from DataLoader(data, batch_size=256, sampler=sampler, drop_last=True)


serve(batches(), 256)
