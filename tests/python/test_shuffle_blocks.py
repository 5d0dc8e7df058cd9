"""shuffle(blocks=): blocks change places, then the elements of every so many; none is opened twice."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from tests.model.order import shuffled_blocks

COUNT = 1000
ROWS = 64  # of a row group, batch or chunk


def _values(ds: hr.Dataset) -> list[int]:
    return [int(np.ravel(sample["x"])[0]) for sample in ds.numpy()]


def _written(tmp_path: Path, kind: str) -> tuple[hr.Dataset, list[int]]:
    """A data set of COUNT numbers, and how many of them lie together."""
    numbers = hr.from_arrays({"x": np.arange(COUNT)})
    in_rows = [ROWS] * (COUNT // ROWS) + [COUNT % ROWS]
    if kind == "arrays":
        return numbers, [COUNT]
    if kind == "records":
        numbers.write(tmp_path / "x", format="jsonl", shard_size=1000)
        files = sorted(path for path in (tmp_path / "x").iterdir() if path.suffix == ".jsonl")
        return hr.read(tmp_path / "x"), [len(path.read_text().splitlines()) for path in files]
    if kind in {"hdf5", "zarr"}:  # of little arrays all is kept in memory, as one block
        numbers = hr.from_arrays({"x": np.repeat(np.arange(COUNT)[:, None], 600, axis=1)})
    packed = {"compression": "gzip"} if kind == "hdf5" else {}  # else rows of a chunk can be had alone
    numbers.write(tmp_path / f"x.{kind}", options={ROWS_TOGETHER[kind]: ROWS, **packed})
    return hr.read(tmp_path / f"x.{kind}"), in_rows


ROWS_TOGETHER = {
    "parquet": "rows_per_group",
    "arrow": "rows_per_batch",
    "hdf5": "rows_per_chunk",
    "zarr": "rows_per_chunk",
}
KINDS = ["arrays", "records", *ROWS_TOGETHER]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blocks", [1, 3, 100])
def test_it_is_what_the_model_says(tmp_path: Path, kind: str, blocks: int) -> None:
    ds, sizes = _written(tmp_path, kind)
    assert sum(sizes) == COUNT and (kind == "arrays" or len(sizes) > 5)
    shuffled = ds.shuffle(seed=7, blocks=blocks)
    assert len(shuffled) == COUNT
    expected = [shuffled_blocks(7, epoch, sizes, blocks) for epoch in range(2)]
    assert _values(shuffled.repeat(2)) == expected[0] + expected[1]
    assert sorted(expected[0]) == list(range(COUNT)) and expected[0] != expected[1]
    assert _values(shuffled.options(workers=4, io=3)) == expected[0]
    assert [int(np.ravel(shuffled[i]["x"])[0]) for i in (0, 500, COUNT - 1)] == [
        expected[0][i] for i in (0, 500, -1)
    ]


def test_blocks_are_opened_once(tmp_path: Path) -> None:
    """What is read of the file, where there is no room for all blocks."""
    path = tmp_path / "x.parquet"
    generator = np.random.default_rng(1)
    rows = generator.integers(0, 256, (60 * 50, 2_000), dtype=np.uint8)
    hr.from_arrays({"x": rows}).write(path, options={"rows_per_group": 50})

    def read(memory_budget: int = 5_000_000, **shuffle: int) -> float:
        ds = hr.read(path).shuffle(seed=1, **shuffle).batch(30)
        loader = ds.options(workers=2, io=2, ready=2, memory_budget=memory_budget).numpy()
        assert sum(len(batch["x"]) for batch in loader) == len(rows)
        return loader.report()["io"]["bytes"] / path.stat().st_size

    assert read(blocks=4) < 1.1
    assert read(blocks=12) < 1.1
    assert read() > 10
    assert read(memory_budget=16_000_000) < 1.1, "there is room for all"


def test_shards_and_resume(tmp_path: Path) -> None:
    ds, sizes = _written(tmp_path, "parquet")
    shuffled = ds.shuffle(seed=3, blocks=4)
    whole = shuffled_blocks(3, 0, sizes, 4)
    dealt = [_values(shuffled.shard(rank, 3, even="drop")) for rank in range(3)]
    assert dealt == [whole[rank : COUNT // 3 * 3 : 3] for rank in range(3)]
    loader = shuffled.repeat(2).batch(7).numpy()
    batches = iter(loader)
    first = [int(x) for _ in range(41) for x in next(batches)["x"]]
    again = shuffled.repeat(2).batch(7).numpy()
    again.load_state_dict(loader.state_dict())
    rest = [int(x) for batch in again for x in batch["x"]]
    assert first + rest == whole + shuffled_blocks(3, 1, sizes, 4)


def test_above_other_verbs(tmp_path: Path) -> None:
    ds, sizes = _written(tmp_path, "parquet")
    order = shuffled_blocks(5, 0, [*sizes, COUNT], 2)  # arrays in memory are one block
    both = ds.concatenate(hr.from_arrays({"x": np.arange(COUNT, 2 * COUNT)}))
    assert _values(both.map(lambda s: {"x": s.x * 2}).shuffle(seed=5, blocks=2)) == [2 * x for x in order]
    skipped = shuffled_blocks(5, 0, [sizes[0] - 10, *sizes[1:]], 2)
    assert _values(ds.skip(10).shuffle(seed=5, blocks=2)) == [x + 10 for x in skipped]
    # A file that comes twice is two, and what a branch leaves out is in no block.
    parts = ds.take(70).concatenate(ds.skip(130).map(lambda s: {"x": s.x + COUNT}))
    cut = [64, 6, 64 * 3 - 130, *sizes[3:]]
    values = [*range(70), *range(COUNT + 130, 2 * COUNT)]
    assert _values(parts.shuffle(seed=5, blocks=2)) == [values[i] for i in shuffled_blocks(5, 0, cut, 2)]
    twice = ds.shuffle(seed=5, blocks=2).repeat(2).map(lambda s: {"x": s.x})
    assert _values(twice) == [x for epoch in range(2) for x in shuffled_blocks(5, epoch, sizes, 2)]
    assert _values(ds.take(0).shuffle(seed=1, blocks=3)) == []
    assert _values(ds.take(1).shuffle(seed=1, blocks=3)) == [0]


def test_plan_and_errors(tmp_path: Path) -> None:
    ds, _ = _written(tmp_path, "parquet")
    plan = ds.shuffle(seed=3, blocks=4)
    assert "seed=3, blocks=4" in plan.explain()
    plan.save_plan(tmp_path / "plan.json")
    assert _values(hr.load_plan(tmp_path / "plan.json")) == _values(plan)
    with pytest.raises(ValueError, match=r"shuffle: expected window= or blocks=, got both"):
        ds.shuffle(window=3, blocks=4)
    with pytest.raises(ValueError, match=r"blocks"):
        ds.shuffle(blocks=-1)
    with pytest.raises(ValueError, match=r"global shuffle needs random access"):
        ds.filter(lambda s: s.x > 3).shuffle(blocks=4)
    with pytest.raises(ValueError, match=r"at most 2\^62"):
        ds.shuffle(blocks=2**63)
    moved = {
        "repeat": ds.repeat(2),
        "shuffle": ds.shuffle(seed=1),
        "mix": hr.mix([ds, ds], weights=[1, 1]),
        "batch": ds.batch(3),
        "zip": hr.zip({"a": ds, "b": ds}),
        "sort_by": ds.sort_by("x"),
    }
    for verb, child in moved.items():
        with pytest.raises(ValueError, match=rf"in the order of the data, but {verb} before it"):
            child.shuffle(blocks=4)


def test_the_order_does_not_depend_on_columns(tmp_path: Path) -> None:
    """Row groups of many pages, which are opened some pages at a time."""
    path, rows = tmp_path / "x.parquet", 20_000
    generator = np.random.default_rng(1)
    fields = {"big": generator.integers(0, 256, (rows, 200), dtype=np.uint8), "x": np.arange(rows)}
    hr.from_arrays(fields).write(path, options={"rows_per_group": 8_000, "compression": "none"})
    expected = shuffled_blocks(7, 0, [8_000, 8_000, 4_000], 2)
    for columns in (["x"], ["big", "x"]):
        loader = hr.read(path, columns=columns).shuffle(seed=7, blocks=2).batch(100).numpy()
        assert [int(x) for batch in loader for x in batch["x"]] == expected
        assert loader.report()["io"]["bytes"] < 1.2 * path.stat().st_size


def test_many_epochs_and_many_blocks(tmp_path: Path) -> None:
    path, rows = tmp_path / "x.parquet", 20_000
    hr.from_arrays({"x": np.arange(rows)}).write(path, options={"rows_per_group": 10})
    sizes = [10] * (rows // 10)
    shuffled = hr.read(path).shuffle(seed=1, blocks=500)
    loader = shuffled.batch(100).numpy()
    assert [int(x) for batch in loader for x in batch["x"]] == shuffled_blocks(1, 0, sizes, 500)
    assert loader.report()["io"]["bytes"] < 1.2 * path.stat().st_size
    epochs = [shuffled.at_epoch(epoch) for epoch in range(12)]
    expected = [shuffled_blocks(1, epoch, sizes, 500) for epoch in range(12)]
    for i in (0, 9_999, rows - 1):
        assert [int(ds[i]["x"]) for ds in epochs] == [order[i] for order in expected]


@pytest.mark.parametrize("kind", ["parquet", "zarr"])
def test_blocks_are_opened_once_in_the_half_of_the_budget_and_the_report_says_when_not(
    tmp_path: Path, kind: str
) -> None:
    blocks, row_bytes = 4, 4800
    numbers = np.random.default_rng(1).integers(0, 1 << 62, (3000, row_bytes // 8))
    hr.from_arrays({"x": numbers}).write(tmp_path / f"x.{kind}", options={ROWS_TOGETHER[kind]: 100})
    mixed = hr.read(tmp_path / f"x.{kind}").shuffle(seed=1, blocks=blocks).batch(10)
    block = 100 * row_bytes

    def bytes_read(budget: int) -> tuple[int, str]:
        loader = mixed.options(memory_budget=budget, workers=1, io=2).numpy()
        assert sorted(int(v) for b in loader for v in b["x"][:, 0]) == sorted(numbers[:, 0].tolist())
        return loader.report()["io"]["bytes"], str(loader.report())

    enough, few = bytes_read(2 * 2 * blocks * block + 8 * block), bytes_read(5 * block)
    assert enough[0] < 1.1 * numbers.nbytes
    assert "opened again" not in enough[1]
    assert (
        "opened again for lack of memory: with fewer blocks= in shuffle, or a larger memory_budget=" in few[1]
    )


def test_explain_says_what_is_opened_again_and_only_that(tmp_path: Path) -> None:
    """What it says is held against what is read."""
    numbers = np.random.default_rng(1).integers(0, 1 << 62, (1200, 600))
    hr.from_arrays({"x": numbers}).write(tmp_path / "x.parquet", options={"rows_per_group": 100})
    ds = hr.read(tmp_path / "x.parquet")

    def told(shuffled: hr.Dataset, budget: int) -> tuple[str, float]:
        shuffled = shuffled.batch(10).options(memory_budget=budget, workers=1, io=1, ready=1)
        loader = shuffled.numpy()
        assert sum(len(batch["x"]) for batch in loader) == len(numbers)
        lines = [line for line in shuffled.explain().splitlines() if line.startswith("note: shuffle ")]
        return "\n".join(lines), loader.report()["io"]["bytes"] / numbers.nbytes

    note, read = told(ds.shuffle(seed=1), 8 * numbers.nbytes)
    assert (note, read < 1.1) == ("", True), "all 12 blocks stay"
    note, read = told(ds.shuffle(seed=1), numbers.nbytes)
    assert (
        "6 of 12 blocks stay in memory (2.9 MB, half of the budget), so about 50 of 100 samples each read"
        in note
    )
    assert 10 < read < 75
    note, read = told(ds.shuffle(seed=1, blocks=3), 4 * numbers.nbytes)
    assert (note, read < 1.1) == ("", True)
    note, read = told(ds.shuffle(seed=1, blocks=8), numbers.nbytes)
    assert "shuffle mixes 8 blocks of about 480.0 kB" in note and "2.9 MB, half of the memory budget" in note
    assert read > 2


def test_an_order_that_reads_again_and_again_warns_before_it_begins(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 << 62, (1200, 600))
    hr.from_arrays({"x": numbers}).write(tmp_path / "x.parquet", options={"rows_per_group": 100})
    batches = hr.read(tmp_path / "x.parquet").shuffle(seed=1).batch(10)
    loader = batches.options(memory_budget=numbers.nbytes).numpy()
    with pytest.warns(RuntimeWarning, match="about 50 of 100 samples each read and open a whole block"):
        iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iter(loader.at_its_first_epoch())  # once is enough
        iter(batches.options(memory_budget=8 * numbers.nbytes).numpy().at_its_first_epoch())
