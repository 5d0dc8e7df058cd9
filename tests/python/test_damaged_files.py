"""A file of which nothing can be had, beside others that are whole."""

from __future__ import annotations

import json
import shutil
import threading
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
    with pytest.warns(UserWarning, match=f"1 of 4 files is damaged and counts as one sample.*'{cut}': "):
        data = hr.read(folder)
    assert len(data) == 16
    (damage,) = data.metadata["damaged"]
    assert damage["path"] == str(cut) and damage["index"] == 15 and damage["reason"].startswith("expected")
    left = [i for i in range(20) if i // 5 != which]
    assert values_of(data.on_error("skip")) == left
    assert sorted(values_of(data.shuffle(seed=3).on_error("skip"))) == left
    assert sorted(values_of(data.shuffle(seed=3, blocks=2).on_error("skip"))) == left
    with pytest.raises(hr.CorruptSample, match=f"sample 15 of {cut}"):
        values_of(data)
    with pytest.raises(hr.CorruptSample, match="expected"):
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
    with pytest.raises(ValueError, match=f"'{cut if name != 'lmdb' else cut.parent}.*': expected"):
        hr.read(cut if name != "lmdb" else cut.parent, format=name)
    whole = sorted(one for one in folder.iterdir() if cut not in (one, one / "data.mdb"))
    assert len(hr.read(whole)) == 15
    for one in whole:
        (shutil.rmtree if one.is_dir() else Path.unlink)(one)
        (shutil.copytree if cut.name == "data.mdb" else shutil.copy)(
            cut.parent if cut.name == "data.mdb" else cut, one
        )
    with pytest.raises(ValueError, match=r"-00000-of-00004.*: expected"):
        hr.read(folder, format=name)


def test_a_file_of_another_schema_is_no_damage(tmp_path):
    for i, column in enumerate(["a", "b"]):
        hr.from_arrays({column: np.arange(3)}).write(tmp_path / f"{i}.arrow")
    with pytest.raises(ValueError, match="expected column 'a: int64"):
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
        f"expected 20 samples, got 16; size differs from when it was written: '{cut}' (50 bytes)"
    )
    assert told[1].startswith("1 of 4 files is damaged") and len(told) == 2


def test_samples_of_a_damaged_shard_of_mds_fail_in_their_places(tmp_path):
    hr.from_arrays({"label": np.arange(20)}).write(tmp_path / "set", format="mds", shards=4)
    cut = sorted((tmp_path / "set").glob("*.mds"))[1]
    cut.write_bytes(cut.read_bytes()[:-5])
    with pytest.warns(UserWarning, match=f"1 of 4 files is damaged, and its samples cannot be read: '{cut}'"):
        data = hr.read(tmp_path / "set")
    assert len(data) == 20
    assert values_of(data.on_error("skip")) == [i for i in range(20) if i // 5 != 1]
    assert sorted(values_of(data.shuffle(seed=3).on_error("skip"))) == [i for i in range(20) if i // 5 != 1]
    for i in range(5, 10):
        with pytest.raises(hr.CorruptSample, match="bytes as the index states, got"):
            data[i]
    for one in (tmp_path / "set").glob("*.mds"):
        one.write_bytes(one.read_bytes()[:-5])
    with pytest.raises(ValueError, match="bytes as the index states, got"):
        hr.read(tmp_path / "set")


def test_damage_within_files_and_of_files_is_listed_together(tmp_path):
    records = [bytes([i]) * 2000 for i in range(20)]
    hr.from_arrays({"value": records}).write(tmp_path / "set", format="lmdb", shards=4)
    first, second = sorted(one for one in (tmp_path / "set").iterdir() if "-of-" in one.name)[:2]
    pages = bytearray((first / "data.mdb").read_bytes())
    at = pages.index(records[3]) // 4096 * 4096  # the page of a record
    pages[at : at + 8] = bytes(8)
    (first / "data.mdb").write_bytes(pages)
    (second / "data.mdb").write_bytes(b"")
    with pytest.warns(UserWarning, match="1 of 4 files is damaged"):
        data = hr.read(tmp_path / "set")
    listed = {str(one["path"]) for one in data.metadata["damaged"]}
    assert listed == {str(first / "data.mdb"), str(second / "data.mdb")}


def test_splits_of_prepared_data_want_all_of_it(tmp_path):
    """Behind a shard that is lost all rows would move into other splits."""
    folder = tmp_path / "saved"
    folder.mkdir()
    for i in range(3):
        hr.from_arrays({"label": np.arange(5 * i, 5 * i + 5)}).write(
            folder / f"data-0000{i}-of-00003.arrow", options={"stream": True}
        )
        (folder / f"data-0000{i}-of-00003.arrow.headrace.json").unlink()
    state = {
        "_data_files": [{"filename": f"data-0000{i}-of-00003.arrow"} for i in range(3)],
        "_split": "train",
    }
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(
        json.dumps({"features": {"label": {"dtype": "int64", "_type": "Value"}}})
    )
    whole = hr.read(folder, split="train[5:10]")
    assert [int(s["label"]) for s in whole] == list(range(5, 10))
    cut = folder / "data-00001-of-00003.arrow"
    cut.write_bytes(cut.read_bytes()[:100])
    with pytest.raises(ValueError, match=f"'{cut}'"):
        hr.read(folder, split="train[5:10]")


def test_a_file_that_grows_while_it_is_opened_is_not_damaged(tmp_path):
    for i in range(200):
        hr.from_arrays({"record": [bytes([i])] * 20}).write(tmp_path / f"{i:03}.tfrecord")
    stop = threading.Event()

    def grow() -> None:
        more = (tmp_path / "000.tfrecord").read_bytes()
        while not stop.is_set():
            with (tmp_path / "150.tfrecord").open("ab") as file:
                file.write(more[:24])

    grower = threading.Thread(target=grow)
    grower.start()
    try:
        for _ in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    data = hr.read(sorted(tmp_path.glob("*.tfrecord")))
                except ValueError as error:
                    assert "its size when it was listed" in str(error) or "150.tfrecord" in str(error)
                else:
                    assert len(data) >= 4000
    finally:
        stop.set()
        grower.join()


def test_groups_of_rows_stay_groups_beside_damage(tmp_path):
    folder, _ = one_of_four_cut(tmp_path, "parquet")
    with pytest.warns(UserWarning):
        data = hr.read(folder)
    order = values_of(data.shuffle(seed=5, blocks=1).on_error("skip"))
    groups = [value // 5 for value in order]
    assert sorted(set(groups)) == [0, 2, 3]
    assert [a for a, b in zip(groups, [None, *groups], strict=False) if a != b] == list(dict.fromkeys(groups))


def test_names_of_stores_are_part_of_what_a_state_is_of(tmp_path):
    hr.from_arrays({"x": np.arange(20)}).write(tmp_path / "out", format="zarr", shards=2)
    before = hr.read(tmp_path / "out").fingerprint()
    first = tmp_path / "out" / "out-00000-of-00002.zarr"
    first.rename(tmp_path / "out" / "other.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert hr.read(tmp_path / "out").fingerprint() != before
