"""Columns that nobody looks at are not read: nothing that is wrong with them matters, and nothing else changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

SMALL = Path(__file__).parents[1] / "sources" / "data"
WHOLE = [7, 8, 9, 10]  # the only column without nulls


@pytest.fixture(params=["nulls.parquet", "nulls.arrows", "huggingface"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param != "huggingface":
        return SMALL / str(request.param)
    folder = tmp_path / "saved"
    folder.mkdir()
    shutil.copy(SMALL / "nulls.arrows", folder / "data.arrow")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def whole(s: Any) -> dict[str, Any]:
    return {"v": s.whole}


def both(s: Any) -> dict[str, Any]:
    return {"n": s.n, "w": s.whole}


def again(s: Any) -> dict[str, Any]:
    return {"v": s.w}


def told(ds: hr.Dataset, name: str = "v") -> list[int]:
    return [int(v) for element in ds for v in np.ravel(element[name])]


Made = tuple[Callable[[hr.Dataset], hr.Dataset], list[int]]
READ: dict[str, Made] = {
    "map": (lambda ds: ds.map(whole), WHOLE),
    "map, and Python": (
        lambda ds: ds.map(whole).map(lambda s: {"v": s["v"] + 1}, python=True),
        [8, 9, 10, 11],
    ),
    "batch after it": (lambda ds: ds.map(whole).batch(3), WHOLE),
    "batch before it": (lambda ds: ds.batch(3).map(whole), WHOLE),
    "ragged_batch": (lambda ds: ds.ragged_batch(3).map(whole), WHOLE),
    "padded_batch": (lambda ds: ds.padded_batch(3, fill={"list": 1}).map(whole), WHOLE),
    "window": (lambda ds: ds.window(2).map(whole), WHOLE),
    "filter": (lambda ds: ds.filter(lambda s: s.whole > 8).map(whole), [9, 10]),
    "take_while": (lambda ds: ds.take_while(lambda s: s.whole < 9).map(whole), [7, 8]),
    "unique": (lambda ds: ds.unique(lambda s: s.whole).map(whole), WHOLE),
    "scan": (lambda ds: ds.scan(np.int64(0), lambda n, s: (n + s.whole, {"v": n})), [0, 7, 15, 24]),
    "bucket_by_length": (lambda ds: ds.bucket_by_length(lambda s: s.whole, batch_sizes=2).map(whole), WHOLE),
    "verbs that move samples": (lambda ds: ds.repeat(2).skip(1).take(5).map(whole), [8, 9, 10, 7, 8]),
    "sort_by": (lambda ds: ds.sort_by([3, 2, 1, 0]).map(whole), WHOLE[::-1]),
    "shuffle of a window": (lambda ds: ds.shuffle(seed=1, window=1).map(whole), WHOLE),
    "shard": (lambda ds: ds.shard(1, 2).map(whole), [8, 10]),
    "on_error": (lambda ds: ds.on_error("skip").map(whole), WHOLE),
    "concatenate": (lambda ds: ds.concatenate(ds.skip(2)).map(whole), [*WHOLE, 9, 10]),
    "one branch looks at more": (
        lambda ds: ds.concatenate(ds.take(1).filter(lambda s: s.n > 0)).map(whole),
        [*WHOLE, 7],
    ),
    "interleave": (
        lambda ds: hr.interleave([ds, ds], cycle_length=2).map(whole),
        [v for v in WHOLE for _ in "ab"],
    ),
    "mix": (lambda ds: hr.mix([ds, ds], weights=[1, 0]).map(whole), WHOLE),
    "choose": (lambda ds: hr.choose([ds, ds], [0, 1, 0]).map(whole), [7, 7, 8]),
    "zip": (lambda ds: hr.zip(ds, ds).map(lambda p: {"v": p[0].whole + p[1].whole}), [14, 16, 18, 20]),
    "zip, of one alone": (lambda ds: hr.zip(ds, ds).map(lambda p: {"v": p[1].whole}), WHOLE),
    "ids alone": (lambda ds: ds.with_ids().map(lambda s: {"v": s["id"]}), [0, 1, 2, 3]),
    "batch between two": (lambda ds: ds.map(both).batch(2).map(again), WHOLE),
    "filter between two": (lambda ds: ds.map(both).filter(lambda s: s.w > 8).map(again), [9, 10]),
    "window between two": (lambda ds: ds.map(both).window(2).map(again), WHOLE),
    "concatenate between two": (lambda ds: ds.map(both).concatenate(ds.map(both)).map(again), WHOLE * 2),
    "mix between two": (lambda ds: hr.mix([ds.map(both), ds.map(both)], weights=[1, 0]).map(again), WHOLE),
    "zip between two": (
        lambda ds: hr.zip(ds.map(both), hr.range(4)).map(lambda p: {"v": p[0].w}),
        WHOLE,
    ),
    "below a cache": (lambda ds: ds.map(whole).cache().map(lambda s: {"v": s.v}), WHOLE),
}


@pytest.mark.parametrize("rewrites", [True, False])
@pytest.mark.parametrize("name", READ)
def test_a_null_in_a_column_that_nobody_uses_is_not_seen(path: Path, name: str, rewrites: bool) -> None:
    make, wanted = READ[name]
    ds = make(hr.read(path)).options(rewrites=rewrites)
    assert told(ds) == wanted


SEEN: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "nothing is chosen": lambda ds: ds,
    "a cache keeps all": lambda ds: ds.cache().map(whole),
    "a filter looks": lambda ds: ds.filter(lambda s: s.n > 0).map(whole),
    "a function of Python sees all": lambda ds: ds.map(lambda s: {"v": s["whole"]}, python=True),
}


@pytest.mark.parametrize("name", SEEN)
def test_a_null_that_is_looked_at_is_an_error_of_its_sample(path: Path, name: str) -> None:
    with pytest.raises(
        hr.CorruptSample, match=r"got null; nulls=.*: sample [01] of .*(nulls|data)\.(parquet|arrow)"
    ):
        list(SEEN[name](hr.read(path)))


def test_nulls_by_column_are_those_of_the_columns_that_are_left(path: Path) -> None:
    ds = hr.read(path, nulls={"n": "zero", "kind": "error"})
    assert told(ds.map(lambda s: {"v": s.n})) == [1, 0, 3, 0]
    assert told(ds.map(lambda s: {"whole": s.whole, "v": s.n})) == [1, 0, 3, 0]
    with pytest.raises(hr.CorruptSample, match="in column 'kind', got null"):
        list(ds.map(lambda s: {"n": s.n, "kind": s.kind}))


@pytest.mark.parametrize("options", [{}, {"blocks": 1}, {"blocks": 2}])
def test_order_and_identity_are_those_of_the_whole(path: Path, options: dict[str, int]) -> None:
    all_of_it = hr.read(path, nulls="zero").shuffle(seed=3, **options)
    some = hr.read(path).shuffle(seed=3, **options)
    assert told(some.map(whole)) == told(all_of_it, "whole")
    ids = some.with_ids().map(lambda s: {"v": s["id"]})
    assert told(ids) == told(all_of_it.with_ids(), "id")
    begun, resumed = some.map(whole).numpy(), some.map(whole).numpy()
    elements = iter(begun)
    first = [int(next(elements)["v"]) for _ in range(2)]
    resumed.load_state_dict(begun.state_dict())
    assert first + [int(s["v"]) for s in resumed] == told(some.map(whole))
    assert list(hr.read(path).schema) == list(all_of_it.schema)


def test_caches_of_different_columns_are_apart(path: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert told(hr.read(path).map(whole).cache(tmp_path / "kept")) == WHOLE
        one = hr.read(path).take(1).map(lambda s: {"v": s.n}).cache(tmp_path / "kept")
        assert told(one) == [1]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_what_is_damaged_in_other_columns_is_not_seen(tmp_path: Path, ending: str) -> None:
    noise = np.random.default_rng(1)
    rows: list[dict[str, Any]] = [
        {"a": np.arange(i, i + 2), "b": noise.integers(0, 16, 20000, np.uint8).tobytes()} for i in range(12)
    ]
    path = tmp_path / f"x.{ending}"
    hr.from_list(rows).write(path, options={"compression": "zstd"})
    data = bytearray(path.read_bytes())
    half, third = len(data) // 2, len(data) // 3
    data[half : half + third // 2] = bytes(third // 2)
    path.write_bytes(data)
    ds = hr.read(path)
    with pytest.raises(hr.CorruptSample):
        list(ds)
    wanted = [v for row in rows for v in row["a"]]
    assert told(ds.map(lambda s: {"v": s.a})) == wanted
    assert told(ds.pack({"a": 4}).map(lambda s: {"v": s.a})) == wanted
