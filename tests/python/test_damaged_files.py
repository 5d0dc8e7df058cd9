"""A file of which nothing can be had, beside others that are whole."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

FORMATS = ["arrow", "hdf5", "lmdb", "parquet"]


def one_of_four_cut(folder: Path, name: str, which: int = 1) -> tuple[Path, Path]:
    """Write 20 samples in four shards and cut one of them short; answer the set and what was cut."""
    values = {"value": [bytes([i]) * 9 for i in range(20)]}
    data = hr.from_arrays({"label": np.arange(20)} if name == "hdf5" else values)
    data.write(folder / "set", format=name, shards=4)
    (folder / "set" / "headrace.json").unlink()
    shard = sorted(one for one in (folder / "set").iterdir() if "-of-" in one.name)[which]
    cut = shard / "data.mdb" if shard.is_dir() else shard
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 3])
    return folder / "set", cut


def values_of(data: hr.Dataset) -> list[int]:
    field = list(data.schema)[-1]
    return [int(s[field][0] if isinstance(s[field], bytes) else s[field]) for s in data.numpy()]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("which", [1, 3])
def test_a_file_that_cannot_be_opened_is_one_sample_behind_the_others(tmp_path, name, which):
    folder, cut = one_of_four_cut(tmp_path, name, which)
    with pytest.warns(UserWarning, match=f"1 of 4 files is damaged and counts as one sample.*'{cut}', wants"):
        data = hr.read(folder)
    assert len(data) == 16
    (damage,) = data.metadata["damaged"]
    assert damage["path"] == str(cut) and damage["index"] == 15 and damage["reason"].startswith("wants")
    left = [i for i in range(20) if i // 5 != which]
    assert values_of(data.on_error("skip")) == left
    assert sorted(values_of(data.shuffle(seed=3).on_error("skip"))) == left
    assert sorted(values_of(data.shuffle(seed=3, blocks=2).on_error("skip"))) == left
    with pytest.raises(hr.CorruptSample, match=f"sample 15 of {cut}"):
        values_of(data)
    with pytest.raises(hr.CorruptSample, match="wants"):
        data[15]
    field = list(data.schema)[-1]
    narrow = data.map(lambda s: {field: s[field]})
    assert values_of(narrow.on_error("skip")) == left
    again = data.options(workers=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert again.fingerprint() == hr.read(folder).options(workers=0).fingerprint()
    cut_again = cut.read_bytes()[:-1]
    cut.write_bytes(cut_again)
    with pytest.warns(UserWarning):
        assert hr.read(folder).fingerprint() == data.fingerprint()


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_named_alone_and_files_that_are_all_damaged_are_errors(tmp_path, name):
    folder, cut = one_of_four_cut(tmp_path, name)
    with pytest.raises(ValueError, match=f"'{cut if name != 'lmdb' else cut.parent}.*': wants"):
        hr.read(cut if name != "lmdb" else cut.parent, format=name)
    whole = sorted(one for one in folder.iterdir() if cut not in (one, one / "data.mdb"))
    assert len(hr.read(whole)) == 15
    for one in whole:
        (shutil.rmtree if one.is_dir() else Path.unlink)(one)
        (shutil.copytree if cut.name == "data.mdb" else shutil.copy)(
            cut.parent if cut.name == "data.mdb" else cut, one
        )
    with pytest.raises(ValueError, match="-00000-of-00004.*: wants"):
        hr.read(folder, format=name)


def test_a_file_of_another_schema_is_no_damage(tmp_path):
    for i, column in enumerate(["a", "b"]):
        hr.from_arrays({column: np.arange(3)}).write(tmp_path / f"{i}.arrow")
    with pytest.raises(ValueError, match="wants column .a: i64"):
        hr.read(tmp_path / "*.arrow")


def test_what_was_written_says_how_many_are_lost(tmp_path):
    data = hr.from_arrays({"label": np.arange(20)})
    data.write(tmp_path / "set", format="arrow", shards=4)
    cut = tmp_path / "set" / "set-00002-of-00004.arrow"
    cut.write_bytes(cut.read_bytes()[:50])
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        hr.read(tmp_path / "set")
    told = sorted(str(one.message) for one in heard)
    assert told[0].endswith(
        f"wants 20 samples, got 16; not of the size that was written: '{cut}' of 50 bytes"
    )
    assert told[1].startswith("1 of 4 files is damaged") and len(told) == 2
