"""Small samples that are read, left out where they are damaged, and gathered: nobody sees that they travel side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

COUNT = 3000
DAMAGED = [0, 1, 5, 700, 701, 1033, 2000, COUNT - 1]


def records(folder: Path, damaged: list[int]) -> hr.Dataset:
    path = folder / "x.tfrecord"
    with hr.writer(path) as writer:
        for i in range(COUNT):
            writer.write({"record": b"%06d" % i + bytes(i % 90)})
    content = bytearray(path.read_bytes())
    for i in damaged:
        at = content.index(b"%06d" % i)
        content[at + 5] ^= 64
    path.write_bytes(content)
    return hr.read(path)


def lost_records(folder: Path, damaged: list[int]) -> hr.Dataset:
    records(folder, [])
    path = folder / "x.tfrecord"
    content = bytearray(path.read_bytes())
    for i in damaged:
        content[content.index(b"%06d" % i) - 1] ^= 1  # of the checksum of its length: found by the walk
    path.write_bytes(content)
    return hr.read(path, format="tfrecord")


def rows(folder: Path, damaged: list[int]) -> hr.Dataset:
    lines = [f"{'x' if i in damaged else i},{i / 8},text {i}" for i in range(COUNT)]
    (folder / "x.csv").write_text("\n".join(["n,f,t", *lines]))
    return hr.read_csv(folder / "x.csv", dtypes={"n": "i64"})


DATA = {"records": records, "lost records": lost_records, "rows": rows}

PIPELINES: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "batch": lambda ds: ds.on_error("skip").batch(32),
    "drop_last": lambda ds: ds.on_error("skip").batch(7, drop_last=True),
    "shuffled": lambda ds: ds.shuffle(seed=3).on_error("skip").batch(100).repeat(2),
    "at the end": lambda ds: ds.batch(64).on_error("skip"),
    "ragged": lambda ds: ds.on_error("skip").batch(40, ragged=True),
    "sharded": lambda ds: ds.shard(1, 3, steps=20).on_error("skip").batch(30),
    "concatenated": lambda ds: ds.take(500).concatenate(ds.skip(690)).on_error("skip").batch(50),
    "taken": lambda ds: ds.on_error("skip").take(1000).batch(50),
    "in a window": lambda ds: ds.on_error("skip").shuffle(seed=2, window=50).batch(50),
    "unbatched": lambda ds: ds.on_error("skip").batch(50).unbatch().batch(30),
}


def told(element: Any) -> Any:
    if isinstance(element, dict):
        return {name: told(value) for name, value in element.items()}
    return (
        element.tolist() if isinstance(element, np.ndarray) else [np.asarray(row).tolist() for row in element]
    )


def all_of(ds: hr.Dataset) -> tuple[list[Any], list[Any], int]:
    loader = ds.numpy()
    iteration = iter(loader)
    elements, states = [], [iteration.state_dict()]
    for element in iteration:
        elements.append(told(element))
        states.append(iteration.state_dict())
    return elements, states, loader.report()["skipped"]


def check_alone_and_side_by_side(ds: hr.Dataset, *, states_differ: bool, counts_differ: bool) -> None:
    elements, states, skipped = all_of(ds.options(workers=1, rewrites=False))
    assert len(elements) > 10
    for workers, io in ((1, 1), (3, 3)):
        for _ in range(2):  # how many travel together is settled while they do
            side_by_side = all_of(ds.options(workers=workers, io=io))
            assert side_by_side[0] == elements
            # Where several workers gather, a state may name the same place in other words.
            if workers == 1 or not states_differ:
                assert side_by_side[1] == states
            if not counts_differ:  # what is read ahead counts
                assert side_by_side[2] == skipped
    loader = ds.options(workers=2).numpy()
    for k in (1, len(elements) // 2, len(elements) - 1):
        loader.load_state_dict(states[k])
        assert [told(element) for element in loader] == elements[k:]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("damaged", [[], DAMAGED], ids=["sound", "damaged"])
def test_elements_states_and_counts_are_those_of_samples_that_go_alone(
    tmp_path: Path, data: str, pipeline: str, damaged: list[int]
) -> None:
    ds = PIPELINES[pipeline](DATA[data](tmp_path, damaged))
    check_alone_and_side_by_side(
        ds, states_differ=pipeline in ("unbatched", "in a window"), counts_differ=pipeline == "taken"
    )


def test_what_fails_is_left_out_and_nothing_beside_it(tmp_path: Path) -> None:
    loader = records(tmp_path, DAMAGED).on_error("skip").batch(32).numpy()
    for epochs in (1, 2):
        numbers = [int(record[:6]) for batch in loader for record in batch["record"]]
        assert numbers == [i for i in range(COUNT) if i not in DAMAGED]
        assert loader.report()["skipped"] == epochs * len(DAMAGED)


@pytest.mark.parametrize("budget", [200_000, 400_000, 1 << 22])
def test_any_memory_that_samples_alone_find_room_in_will_do(tmp_path: Path, budget: int) -> None:
    ds = rows(tmp_path, DAMAGED).on_error("skip").batch(16).options(memory_budget=budget, workers=2, io=2)
    assert sum(len(batch["n"]) for batch in ds.numpy()) == COUNT - len(DAMAGED)


def test_many_are_read_together(tmp_path: Path) -> None:
    loader = records(tmp_path, []).on_error("skip").batch(32).numpy()
    reads = [0]
    for _ in range(4):  # how many is settled by what they take
        assert sum(len(batch["record"]) for batch in loader) == COUNT
        reads.append(loader.report()["io"]["reads"])
    assert min(np.diff(reads)) < COUNT / 30
