"""Headrace: range -> map(x + 1) -> shuffle -> batch(256), traced; `plain` switches hoisting over the batch off."""

import sys
from collections.abc import Iterator
from typing import Any

import headrace as hr

from .segment import serve

plain = sys.argv[1:] == ["plain"]


def batches() -> Iterator[Any]:
    read = hr.range(10_000_000).map(lambda x: x + 1).shuffle(seed=1).repeat().batch(256)
    yield from read.options(workers=1, rewrites={"hoist_over_batch": not plain}).numpy()


serve(batches(), 256)
