"""Datasets with positions beside Grain's MapDataset: what stands where, how long they are, and what a shuffled epoch is.

HEADRACE_TENSORFLOW_PYTHON names an interpreter that has Grain, too: `make oracle` makes one. Both take elements by position and count epochs
through `repeat`. Not the same, and so not compared: the permutations themselves; Grain answers positions beyond the length from the next
epoch, where ours is an IndexError; its filter keeps the length and gives None.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

PYTHON = os.environ.get("HEADRACE_TENSORFLOW_PYTHON", "")


def has_grain() -> bool:
    done = PYTHON and subprocess.run(
        [PYTHON, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('grain') is None)"],
        check=False,
    )
    return bool(done) and done.returncode == 0


pytestmark = pytest.mark.skipif(
    not has_grain(), reason="HEADRACE_TENSORFLOW_PYTHON names no interpreter with Grain"
)


def answers(expressions: list[str]) -> list[Any]:
    done = subprocess.run(
        [PYTHON, Path(__file__).parent / "grain_says.py"],
        input=json.dumps(expressions),
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def ours(expression: str) -> dict[str, Any]:
    dataset = eval(expression, {"hr": hr, "np": np})
    assert [x.tolist() for x in dataset] == [dataset[i].tolist() for i in range(len(dataset))]
    return {"length": len(dataset), "elements": [dataset[i].tolist() for i in range(len(dataset))]}


def random_pair(draw: random.Random) -> tuple[str, str, int]:
    """One pipeline for each, without a shuffle, and its length."""
    size = draw.randrange(1, 13)
    mine, theirs, batched = f"hr.range({size})", f"MapDataset.range({size})", 0
    for _ in range(draw.randrange(6)):
        match draw.choice(["map", "batch", "take", "skip", "repeat", "shard", "concatenate"]):
            case "map" if not batched:
                mine, theirs = mine + ".map(lambda x: x * 3 + 1)", theirs + ".map(lambda x: x * 3 + 1)"
            case "batch" if not batched:
                n, drop = draw.randrange(1, min(5, size + 1)), draw.random() < 0.5
                batched, size = 1, size // n if drop else -(-size // n)
                mine, theirs = (
                    f"{mine}.batch({n}, drop_last={drop})",
                    f"{theirs}.batch({n}, drop_remainder={drop})",
                )
            case "take" if size > 1:
                n = draw.randrange(1, size)
                mine, theirs, size = f"{mine}.take({n})", f"{theirs}.slice(slice(0, {n}))", n
            case "skip" if size > 1:
                n = draw.randrange(1, size)
                mine, theirs, size = f"{mine}.skip({n})", f"{theirs}.slice(slice({n}, None))", size - n
            case "repeat" if size < 20:
                n = draw.randrange(1, 4)
                mine, theirs, size = f"{mine}.repeat({n})", f"{theirs}.repeat({n})", size * n
            case "shard" if "shard" not in mine and "batch" not in mine and size >= 4:
                world = draw.randrange(1, 4)
                rank = draw.randrange(world)
                dealt = f".take({size // world * world}).shard({rank}, {world}, even='drop')"
                whole = f".slice(slice(0, {size // world * world})).slice(slice({rank}, None, {world}))"
                # ours deals from the order as it is in the end, so nothing that changes the order follows
                return mine + dealt, theirs + whole, size // world
            case "concatenate" if not batched:
                n = draw.randrange(1, 5)
                mine = f"{mine}.concatenate(hr.range({n}))"
                theirs = f"MapDataset.concatenate([{theirs}, MapDataset.range({n})])"
                size += n
            case _:
                pass
    return mine, theirs, size


def test_positions_and_lengths_are_those_of_grain() -> None:
    draw = random.Random(11)
    pairs = [random_pair(draw) for _ in range(400)]
    for (mine, theirs, size), told in zip(pairs, answers([pair[1] for pair in pairs]), strict=True):
        assert ours(mine) == told and told["length"] == size, (mine, theirs)


def test_a_shuffled_epoch_means_the_same() -> None:
    """A permutation for each epoch, the next pass of repeat another one, and verbs after it see its order."""
    size, passes = 12, 3
    shuffled = "{}.range(12).shuffle(seed=7)"
    wholes = ["", ".repeat(3)", ".map(lambda x: x + 1).repeat(3)", ".batch(4).repeat(3)"]
    told = answers([shuffled.format("MapDataset") + whole for whole in wholes])
    for pipelines in (told, [ours(shuffled.format("hr") + whole) for whole in wholes]):
        once, repeated, mapped, batched = (one["elements"] for one in pipelines)
        epochs = [repeated[at : at + size] for at in range(0, size * passes, size)]
        assert epochs[0] == once
        assert all(sorted(epoch) == list(range(size)) for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) == passes
        assert mapped == [x + 1 for x in repeated]
        assert [x for batch in batched for x in batch] == repeated


def test_at_epoch_is_a_pass_of_repeat() -> None:
    """What Grain reaches by a position beyond the length."""
    dataset = hr.range(12).shuffle(seed=7)
    repeated = [int(x) for x in dataset.repeat(3)]
    assert [int(x) for epoch in range(3) for x in dataset.at_epoch(epoch)] == repeated
