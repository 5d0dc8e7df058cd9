"""What reading hears of the manifest that lies beside data which were written here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

ROOT = Path(__file__).resolve().parents[2]

CONTAINERS = ["tfrecord", "recordio", "webdataset", "lmdb", "arrow", "hdf5"]


def numbers(samples: int = 20) -> hr.Dataset:
    records = [bytes([i]) * 50 for i in range(samples)]
    return hr.from_arrays({"record": records, "label": np.arange(samples) % 2})


def written(folder: Path, container: str, **options: Any) -> Path:
    data = numbers()
    if container == "hdf5":
        data = data.map(lambda s: {"label": s.label})
    data.write(folder / "out", format=container, shards=4, **options)
    return folder / "out"


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def told(path: Any, **options: Any) -> list[str]:
    """Return what is warned of when the data are opened."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        hr.read(path, **options)
    return [str(one.message) for one in heard]


def executable() -> str:
    """Return the command line that was built here, or the one that was installed with the package."""
    built = ROOT / "build/release/cli/headrace"
    found = os.environ.get("HEADRACE_CLI") or (built if built.exists() else shutil.which("headrace"))
    if found is None:
        pytest.skip("the command line is not built: `make build`, or set HEADRACE_CLI")
    return str(found)


def command(*words: Any) -> subprocess.CompletedProcess[str]:
    line = [executable(), *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def change(manifest: Path, **members: Any) -> None:
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **members}))


class TestMissing:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_a_missing_shard_is_told_when_data_are_opened(self, tmp_path, container):
        folder = written(tmp_path, container)
        assert told(folder) == []
        (gone,) = (one for one in folder.glob("out-00001-of-00004.*") if one.suffix != ".idx")
        remove(gone)
        text = f"1 of 4 shards is missing: '{gone}' (5 of 20 samples, according to '{folder}/headrace.json')"
        assert told(folder) == [text]
        with pytest.warns(UserWarning, match="1 of 4 shards is missing"):
            data = hr.read(folder)
        assert data.metadata["missing"] == text and len(data) == 15
        assert data.explain().count("is missing") == 1
        data.save_plan(tmp_path / "plan.json")
        with pytest.warns(UserWarning, match="1 of 4 shards is missing"):
            assert len(hr.load_plan(tmp_path / "plan.json")) == 15
        done = command("run", folder)
        assert done.stderr.count(f"note: {text}\n") == 1
        copied = command("convert", folder, tmp_path / "copy", "--format", "arrow")
        assert f"{folder}: {text}" in copied.stdout
        assert "missing" not in hr.read(tmp_path / "copy").metadata
        (tmp_path / "out" / "headrace.json").unlink()
        if container != "lmdb":  # which is told of by the file in its folder
            assert told(folder) == [
                f"1 of 4 shards is missing: '{gone}' (judging by the numbers in file names)"
            ]

    def test_patterns_want_what_they_match_and_lists_what_they_name(self, tmp_path):
        folder = written(tmp_path, "tfrecord")
        (folder / "out-00001-of-00004.tfrecord").unlink()
        for _ in range(2):  # by the manifest, then by the names
            assert len(told(f"{folder}/out-?????-of-00004.tfrecord")) == 1
            assert len(told(f"{folder}/**/*.tfrecord")) == 1
            assert told(f"{folder}/out-0000[023]-of-00004.tfrecord") == []
            assert told(f"{folder}/out-0000{{0,2}}-of-00004.tfrecord") == []
            assert told(sorted(folder.glob("*.tfrecord"))) == []
            assert told(folder / "out-00000-of-00004.tfrecord") == []
            (folder / "headrace.json").unlink(missing_ok=True)

    def test_shards_without_a_number_of_all_are_known_by_the_manifest(self, tmp_path):
        numbers().write(tmp_path / "out", format="webdataset", shard_size="300B")
        assert told(tmp_path / "out") == []
        (tmp_path / "out" / "00002.tar").unlink()
        assert "missing: '" + str(tmp_path / "out" / "00002.tar") in told(tmp_path / "out")[0]

    def test_a_set_that_was_renamed_lacks_nothing(self, tmp_path):
        folder = written(tmp_path, "tfrecord")
        for i, file in enumerate(sorted(folder.glob("*.tfrecord"))):
            file.rename(folder / f"{i}.tfrecord")
        assert told(folder) == []


class TestNumbers:
    @pytest.mark.parametrize("container", ["tfrecord", "recordio"])
    def test_an_empty_shard_is_told_and_fails_verify(self, tmp_path, container):
        folder = written(tmp_path, container)
        before = command("verify", folder)
        assert "headrace.json" not in before.stdout
        (cut,) = (one for one in folder.glob("out-00001-of-00004.*") if one.suffix != ".idx")
        cut.unlink()  # as a copy that replaces it: an index is believed while folders are unchanged
        cut.write_bytes(b"")
        text = f"'{folder}/headrace.json': expected 20 samples, got 15; size differs from when it was written: '{cut}' (0 bytes)"
        assert told(folder) == [text]  # and is heard of the others
        with pytest.warns(UserWarning, match="expected 20 samples, got 15"):
            assert hr.read(folder).metadata["differs"] == text
        checked = command("verify", folder)
        assert text in checked.stdout and checked.returncode == 1
        assert json.loads(command("verify", folder, "--json").stdout)["differs"] == text
        (folder / "headrace.json").unlink()
        assert told(folder) == []  # writers in parallel leave empty shards
        for word in ("verify", "inspect"):
            assert f"1 of 4 files is empty: '{cut}'" in command(word, folder).stdout

    def test_a_shard_that_is_cut_in_place_is_told_or_is_an_error(self, tmp_path):
        folder = written(tmp_path, "tfrecord")
        time.sleep(0.2)  # from then on an index of the folder is believed
        assert told(folder) == []
        (folder / "out-00001-of-00004.tfrecord").write_bytes(b"")
        if not told(folder):
            with pytest.raises(OSError, match=r"changed since its index was made: expected .* bytes, got 0"):
                list(hr.read(folder).numpy())
            assert "expected 20 samples, got 15" in told(folder)[0]
        assert command("verify", folder).returncode == 1

    def test_a_single_file_that_was_cut_is_told(self, tmp_path):
        numbers().write(tmp_path / "a.tfrecord")
        whole = (tmp_path / "a.tfrecord").read_bytes()
        assert told(tmp_path / "a.tfrecord") == []
        (tmp_path / "a.tfrecord").write_bytes(whole[: len(whole) // 20 * 10])
        assert "expected 20 samples, got 10" in told(tmp_path / "a.tfrecord")[0]
        assert command("verify", tmp_path / "a.tfrecord").returncode == 1

    def test_a_shard_by_itself_wants_its_own(self, tmp_path):
        folder = written(tmp_path, "tfrecord")
        assert told(folder / "out-00002-of-00004.tfrecord") == []
        shutil.copy(folder / "out-00002-of-00004.tfrecord", folder / "more.tfrecord")
        assert told(folder / "more.tfrecord") == []
        assert "expected 20 samples, got 25" in told(folder)[0]

    def test_options_that_choose_samples_are_not_compared(self, tmp_path):
        hr.from_arrays({"a": np.arange(10)}).write(tmp_path / "a.parquet")
        assert told(tmp_path / "a.parquet", where=[("a", "<", 3)]) == []


class TestReadWith:
    @pytest.mark.parametrize("shards", [None, 3])
    def test_records_without_a_header_are_read_whole(self, tmp_path, shards):
        records = [bytes(40)] * 6
        target = tmp_path / ("out" if shards else "out.rec")
        hr.from_arrays({"record": records}).write(
            target, format="recordio", **({"shards": shards} if shards else {})
        )
        data = hr.read(target)
        assert [next(iter(sample.values())) for sample in data] == records
        assert len(hr.read_recordio(target).schema) == 1
        said = hr.read(target, header=False)
        assert data.fingerprint() == said.fingerprint()
        data.save_plan(tmp_path / "plan.json")
        next(tmp_path.rglob("*headrace.json")).unlink()
        assert [next(iter(sample.values())) for sample in hr.load_plan(tmp_path / "plan.json")] == records
        assert len(hr.read(target).schema) == 3  # nothing tells them from records with a header

    def test_what_the_user_says_is_stronger(self, tmp_path):
        hr.from_arrays({"record": [bytes(40)] * 6}).write(tmp_path / "out.rec")
        assert len(hr.read(tmp_path / "out.rec", header=True).schema) == 3

    def test_another_file_of_that_name_is_read_as_it_is(self, tmp_path):
        hr.from_arrays({"record": [bytes(40)] * 6}).write(tmp_path / "out.rec")
        numbers().write(tmp_path / "new.rec")
        for ending in ("rec", "idx"):
            (tmp_path / f"new.{ending}").replace(tmp_path / f"out.{ending}")
        with pytest.warns(UserWarning, match="expected 6 samples, got 20"):
            assert len(hr.read(tmp_path / "out.rec").schema) == 3

    def test_dtypes_are_those_that_were_written(self, tmp_path):
        data = hr.from_arrays({"a": np.arange(3, dtype=np.uint8), "b": np.arange(3, dtype=np.float32)})
        for name in ("t.csv", "t.jsonl"):
            data.write(tmp_path / name)
            assert hr.read(tmp_path / name).schema == data.schema
            assert hr.read(tmp_path / name, columns=["b"])[1]["b"].dtype == np.float32
            assert told(tmp_path / name, columns=["b"]) == []


class TestMetadata:
    @pytest.mark.parametrize("container", ["tfrecord", "recordio", "webdataset", "lmdb"])
    def test_classes_are_known_and_go_back_to_folders(self, tmp_path, photos, container):
        data = hr.read(photos)
        data.write(tmp_path / "set", format=container, shards=2)
        data.write(tmp_path / "one", format=container)
        names = data.metadata["classes"]
        assert hr.read(tmp_path / "one").metadata["classes"] == names
        again = hr.read(tmp_path / "set")
        assert again.metadata["classes"] == names
        bare = sorted((tmp_path / "set").glob("set-*[!x]"))
        assert hr.read(bare[0]).metadata["classes"] == names
        if container == "webdataset":
            fields = "image=jpg,label=cls"
            command(
                "convert", tmp_path / "set", tmp_path / "back", "--format", "image_folder", "--fields", fields
            )
            assert sorted(one.name for one in (tmp_path / "back").iterdir() if one.is_dir()) == names
        found = again.fingerprint()
        change(
            tmp_path / "set" / "headrace.json", metadata={"classes": ["x"], "notes": [1], "missing": "all"}
        )
        other = hr.read(tmp_path / "set")
        assert other.metadata["classes"] == ["x"] and "missing" not in other.metadata
        assert other.fingerprint() == found


DAMAGED = {
    "no JSON": "{",
    "deep": "[" * 100_000,
    "a list": "[]",
    "nothing": "",
    "other members": '{"headrace_dataset": 1, "format": "recordio"}',
}
ODD: dict[str, dict[str, Any]] = {
    "another format": {"format": "tfrecord"},
    "another version": {"headrace_dataset": 2},
    "shards that are none": {"shards": [1, None]},
    "shards that lead elsewhere": {
        "shards": [{"name": "../x", "samples": 1, "bytes": 1, "xxh3_128": "", "sum": 0}]
    },
    "the same shard twice": {
        "shards": [{"name": "out.rec", "samples": 1, "bytes": 1, "xxh3_128": "", "sum": 0}] * 2
    },
}


class TestHostile:
    @pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
    def test_a_damaged_manifest_is_told_and_not_heard(self, tmp_path, text):
        numbers().write(tmp_path / "out.rec")
        (tmp_path / "out.rec.headrace.json").write_text(text)
        (line,) = told(tmp_path / "out.rec")
        assert line.startswith(f"'{tmp_path}/out.rec.headrace.json' is ignored: ")
        assert command("verify", tmp_path / "out.rec").stdout.count("is ignored") == 1

    @pytest.mark.parametrize("members", ODD.values(), ids=ODD)
    def test_a_manifest_of_something_else_is_told_and_not_heard(self, tmp_path, members):
        numbers().write(tmp_path / "out.rec")
        change(tmp_path / "out.rec.headrace.json", **members)
        (line,) = told(tmp_path / "out.rec")
        assert "out.rec.headrace.json' is ignored: " in line

    def test_a_huge_manifest_is_not_read(self, tmp_path):
        numbers().write(tmp_path / "out.rec")
        with (tmp_path / "out.rec.headrace.json").open("r+b") as file:
            file.truncate(1 << 40)
        assert "is ignored: expected at most" in told(tmp_path / "out.rec")[0]

    def test_options_that_no_writer_gives_are_not_heard(self, tmp_path):
        data = hr.from_arrays({"a": np.arange(10)})
        data.write(tmp_path / "a.parquet")
        change(tmp_path / "a.parquet.headrace.json", read_with={"where": [["a", "<", 3]]})
        (line,) = told(tmp_path / "a.parquet")
        assert "its read_with is not what its writer sets" in line
        assert len(hr.read(tmp_path / "a.parquet")) == 10

    @pytest.mark.parametrize(
        "read_with", [7, [], {"header": 3}, {"no such": 1}, {"label_width": "x", "header": []}]
    )
    def test_options_that_make_no_sense_are_left_alone(self, tmp_path, read_with):
        numbers().write(tmp_path / "out.rec")
        change(tmp_path / "out.rec.headrace.json", read_with=read_with, metadata=[1])
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            assert len(hr.read(tmp_path / "out.rec")) == 20
        assert ["its read_with is not what its writer sets" in str(one.message) for one in heard] == [
            isinstance(read_with, dict)
        ] * len(heard)
        assert len(heard) == isinstance(read_with, dict)

    def test_classes_that_are_no_texts_harm_nobody(self, tmp_path, photos):
        hr.read(photos).map(lambda s: {"image": s.image}).write(tmp_path / "out", format="images")
        change(tmp_path / "out" / "headrace.json", metadata={"classes": [1]})
        for words in (["inspect"], ["verify"], ["inspect", "--json"]):
            assert command(*words, tmp_path / "out").returncode == 0


class TestSets:
    def test_a_folder_of_two_sets_is_told(self, tmp_path):
        for name in ("cats", "dogs"):
            numbers().write(tmp_path / name, format="tfrecord", shards=2)
            for shard in (tmp_path / name).glob("*.tfrecord"):
                shard.rename(tmp_path / shard.name)
        (text,) = told(tmp_path)
        names = f"'{tmp_path}/cats-*-of-00002.tfrecord', '{tmp_path}/dogs-*-of-00002.tfrecord'"
        assert (
            text
            == f"2 sets of shards: {names}; all are read as one data set; to read one of them, pass its pattern"
        )
        with pytest.warns(UserWarning, match="2 sets of shards"):
            assert len(hr.read(tmp_path)) == 40
        assert told(tmp_path / "*.tfrecord") == []
        assert told(tmp_path / "cats-*-of-00002.tfrecord") == []
        assert len(hr.read(tmp_path / "cats-*-of-00002.tfrecord")) == 20


class TestAltered:
    @pytest.mark.parametrize("container", [*CONTAINERS, "parquet", "csv", "jsonl", "zarr"])
    def test_verify_compares_samples_with_what_was_written(self, tmp_path, container):
        folder = tmp_path / "out"
        values = (
            {"a": np.arange(20)}
            if container in ("csv", "jsonl", "hdf5")
            else {"record": [bytes([i]) * 50 for i in range(20)]}
        )
        hr.from_arrays(values).write(folder, format=container, shards=4)
        done = command("verify", folder)
        assert done.returncode == 0 and "the samples match the hashes that were stored" in done.stdout
        first, second = sorted(
            one for one in folder.iterdir() if "-of-" in one.name and one.suffix != ".idx"
        )[:2]
        first.rename(tmp_path / "aside"), second.rename(first), (tmp_path / "aside").rename(second)
        done = command("verify", folder)
        assert (
            f"contents differ from what was written: '{first}', '{second}'" in done.stdout
            and done.returncode == 1
        )
        altered = json.loads(command("verify", folder, "--json").stdout)["altered"]
        assert altered == [str(first), str(second)]

    def test_a_lost_chunk_of_zarr_is_found(self, tmp_path):
        hr.from_arrays({"x": np.arange(1, 41)}).write(tmp_path / "out", format="zarr", shards=4)
        (lost,) = (tmp_path / "out" / "out-00002-of-00004.zarr").rglob("c/0")
        lost.unlink()
        done = command("verify", tmp_path / "out")
        assert "out-00002-of-00004.zarr'" in done.stdout and done.returncode == 1

    def test_another_file_of_the_same_number_of_samples_is_told(self, tmp_path):
        folder = written(tmp_path, "tfrecord")
        numbers(5).map(lambda s: {"record": s.record}).write(tmp_path / "other.tfrecord")
        (tmp_path / "other.tfrecord").replace(folder / "out-00001-of-00004.tfrecord")
        assert any("size differs from when it was written" in one for one in told(folder))


class TestClasses:
    def test_labels_that_were_changed_have_no_names(self, tmp_path, photos):
        data = hr.read(photos)
        for i, (kept, one) in enumerate([
            (True, data),
            (True, data.shuffle(seed=1).filter(lambda s: s.label >= 0)),
            (True, data.map(lambda s: {"picture": s.image, "class": s.label})),
            (True, data.concatenate(data)),
            (False, data.map(lambda s: {"image": s.image, "label": s.label // 2})),
            (False, data.concatenate(data.map(lambda s: {"image": s.image, "label": s.label + 1}))),
        ]):  # fmt: skip
            one.write(tmp_path / str(i), format="arrow", shard_size="1KB")
            assert ("classes" in hr.read(tmp_path / str(i)).metadata) == kept, i

    def test_what_was_said_of_reading_is_not_said_of_the_copy(self, tmp_path):
        folder = written(tmp_path, "tfrecord")
        cut = folder / "out-00001-of-00004.tfrecord"
        cut.write_bytes(cut.read_bytes()[:-3])
        with pytest.warns(UserWarning, match="1 of 20 samples stands for data that cannot be read"):
            data = hr.read(folder)
        assert data.metadata["damaged"]
        data.on_error("skip").write(tmp_path / "clean.tfrecord")
        assert set(hr.read(tmp_path / "clean.tfrecord").metadata) == {"files"}
