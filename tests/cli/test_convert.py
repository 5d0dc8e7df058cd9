"""`headrace convert`: what it prints, and what is left of it when it is killed.

HEADRACE_NIGHTLY=1 kills a thousand times each writer instead of twenty.
"""

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from .test_command_line import executable, pytestmark  # noqa: F401  the same condition

Image = pytest.importorskip("PIL.Image")
hr = pytest.importorskip("headrace")

KILLS = 1000 if os.environ.get("HEADRACE_NIGHTLY") else 20
FORMATS = sorted(
    {row["name"] for row in hr._core.writer_table()} - {"images"}
)  # image_folder without classes


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Folders of 20 and of 30 images in two classes."""
    root = tmp_path_factory.mktemp("photos")
    for count in (20, 30):
        for i in range(count):
            folder = root / str(count) / ("cat", "dog")[i % 2]
            folder.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (64 + i, 48), (8 * i, 255 - 8 * i, count)).save(folder / f"{i:02}.jpg")
    return root


def of_20_and_30(name, photos, folder):
    """Two sources that a format can hold: not all take images."""
    if name not in {"csv", "jsonl", "npy"}:
        return {"20": photos / "20", "30": photos / "30"}
    rows = {"20": np.arange(40).reshape(20, 2), "30": np.arange(60, 120).reshape(30, 2)}
    for count, array in rows.items():
        np.save(folder / f"{count}.npy", array)
    if name == "npy":
        return {count: folder / f"{count}.npy" for count in rows}
    for count, array in rows.items():
        np.savetxt(folder / f"{count}.csv", array, fmt="%d", delimiter=",", header="x,y", comments="")
    return {count: folder / f"{count}.csv" for count in rows}


def convert(*arguments, code=0):
    command = [executable(), "convert", *map(str, arguments), "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else json.loads(done.stderr)["error"]


def contents(path):
    """What is there, by what is read: a hash of all samples, None when there is nothing."""
    if not path.exists():
        return None
    digest = hashlib.sha256()
    for sample in hr.read(path):
        for name, field in sample.items():
            digest.update(name.encode() + (field.encode() if isinstance(field, str) else bytes(field)))
    return digest.hexdigest()


def start(*arguments):
    return subprocess.Popen(
        [executable(), "convert", *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def test_names_of_files_are_kept_where_they_are_asked_for(photos, tmp_path):
    names = [f"{folder}/{i:02}" for folder, first in (("cat", 0), ("dog", 1)) for i in range(first, 20, 2)]
    for target in ("named.tar", "named.tfrecord"):
        convert(photos / "20", tmp_path / target, "--source-option", "key=true")
    assert [str(s["__key__"]) for s in hr.read(tmp_path / "named.tar")] == names
    assert names[3].encode() in next(iter(hr.read(tmp_path / "named.tfrecord").skip(3)))["record"]
    assert [s["__key__"] for s in hr.read_image_folder(photos / "20", key=True)] == names
    assert sorted(s["__key__"] for s in hr.read_images(photos / "20", key=True)) == names


@pytest.mark.parametrize("name", FORMATS)
def test_whoever_is_killed_leaves_the_old_data_set_or_the_new(photos, tmp_path, name):
    sharding = [] if name == "image_folder" else ["--shards", "3"]
    (tmp_path / "sources").mkdir()
    commands = {
        count: [source, tmp_path / "out", "--format", name, *sharding, "--overwrite"]
        for count, source in of_20_and_30(name, photos, tmp_path / "sources").items()
    }
    whole = {}
    for count, command in commands.items():
        began = time.monotonic()
        convert(*command)
        seconds = time.monotonic() - began
        whole[count] = contents(tmp_path / "out")
    assert len(set(whole.values())) == 2
    there = "30"
    draws = random.Random(name)
    for _ in range(KILLS):
        other = "20" if there == "30" else "30"
        process = start(*commands[other])
        time.sleep(draws.uniform(0, 1.1 * seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = contents(tmp_path / "out")
        assert found in whole.values()
        there = next(count for count, value in whole.items() if value == found)
        if (tmp_path / "out.partial" / "journal").exists():
            with pytest.raises(ValueError, match="is an unfinished data set"):
                hr.read(tmp_path / "out.partial")
    convert(*commands["20"])
    assert contents(tmp_path / "out") == whole["20"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "sources"]


@pytest.mark.parametrize("name", ["tfrecord", "webdataset"])
def test_whoever_is_killed_at_the_first_writing_leaves_all_or_nothing(photos, tmp_path, name):
    draws = random.Random(name)
    for i in range(KILLS):
        process = start(photos / "30", tmp_path / str(i), "--format", name)
        time.sleep(draws.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / str(i)).exists():
            assert len(hr.read(tmp_path / str(i))) == 30


def test_a_killed_run_goes_on_from_its_finished_shards(photos, tmp_path):
    command = [photos / "30", tmp_path / "out", "--format", "tfrecord", "--shards", "10", "--shuffle", "5"]
    convert(*[tmp_path / "whole" if part == tmp_path / "out" else part for part in command])
    journal = tmp_path / "out.partial" / "journal"
    for _ in range(50):
        process = start(*command)
        while process.poll() is None and not (journal.exists() and journal.read_text().count('"shard"') >= 3):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        if journal.exists():
            break
        for path in (tmp_path / "out").iterdir():  # it was quicker than we
            path.unlink()
        (tmp_path / "out").rmdir()
    report = convert(*command)
    assert report["reused_shards"] >= 3
    hashes = [
        [path.read_bytes() for path in sorted((tmp_path / place).glob("*-of-*"))]
        for place in ("out", "whole")
    ]
    assert hashes[0] == hashes[1]
    assert report["samples"] == 30


def test_a_killed_run_leaves_out_the_same_broken_rows_and_lists_them_once(tmp_path):
    lines = [f"{i},{'oops' if i % 3 == 1 else i / 2}" for i in range(60000)]
    (tmp_path / "in.csv").write_text("i,x\n" + "\n".join(lines) + "\n")
    options = ["--format", "csv", "--shard-size", "40kB", "--drop-broken", "--shuffle", "5"]
    options += ["--source-option", 'dtypes={"x": "f64"}']
    convert(tmp_path / "in.csv", tmp_path / "whole", *options)
    quarantine = json.loads((tmp_path / "whole" / "quarantine.json").read_text())["broken"]
    assert len(quarantine) == 20000
    assert [entry["position"] for entry in quarantine] == sorted(entry["position"] for entry in quarantine)
    journal, reused = tmp_path / "out.partial" / "journal", 0
    for shards in (2, 7, 20):
        process = start(tmp_path / "in.csv", tmp_path / "out", *options)
        while process.poll() is None and not (
            journal.exists() and journal.read_text().count('"shard"') >= shards
        ):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    if (tmp_path / "out").exists():  # it was quicker than we
        pytest.skip("the machine is too fast or too slow")
    reused = convert(tmp_path / "in.csv", tmp_path / "out", *options)["reused_shards"]
    assert reused >= 7
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "out").iterdir())
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_a_disk_that_is_full_is_an_error_and_leaves_nothing_that_looks_whole(photos, tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = subprocess.run(
        [executable(), "convert", photos / "30", tmp_path / "out.tar"],
        check=False, capture_output=True, text=True, preexec_fn=no_room, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
    convert(photos / "30", tmp_path / "out.tar")
    assert len(hr.read(tmp_path / "out.tar")) == 30


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]
    try:
        if subprocess.run(mounting, check=False, capture_output=True).returncode != 0:
            pytest.skip("no disk can be mounted")
    except FileNotFoundError:
        pytest.skip("no disk can be mounted")
    yield disk
    subprocess.run(["umount", disk], check=True)


def records_of(path, size, count):
    np.save(path, np.random.default_rng(1).integers(0, 256, (count, size), np.uint8))
    return path


def test_a_full_disk_has_its_room_back_where_no_run_could_go_on(tmp_path, small_disk):
    source = records_of(tmp_path / "in.npy", 4000, 30)
    records = tmp_path / "records.tfrecord"
    with hr.writer(records, format="tfrecord") as writer:
        for i in range(30):
            writer.write({"record": bytes([i]) * 4000})
    for target, more in (
        ("out.npy", []),
        ("out.tfrecord", []),
        ("out.arrow", []),
        ("out", ["--format", "zarr"]),
    ):
        error = convert(source, small_disk / target, *more, code=1)
        assert "No space left on device" in error, error
        assert list(small_disk.iterdir()) == [], target
    for target in ("out.lmdb", "out.mdb"):  # liblmdb says EIO
        error = convert(records, small_disk / target, code=1)
        assert "No space left on device" in error, error
        assert list(small_disk.iterdir()) == [], target
    (small_disk / "filling").write_bytes(bytes(15 << 12))
    (small_disk / "more").write_bytes(b"x")  # not one page is left, of which the journal would take one
    error = convert(source, small_disk / "out.npy", code=1)
    assert "No space left on device" in error
    assert {path.name for path in small_disk.iterdir()} <= {"filling", "more"}


def test_a_full_disk_keeps_the_shards_that_the_next_run_uses(tmp_path, small_disk):
    source = records_of(tmp_path / "in.npy", 4000, 20)
    error = convert(source, small_disk / "out", "--format", "npy", "--shards", "10", code=1)
    assert "No space left on device" in error
    assert (small_disk / "out.partial" / "journal").exists()
    subprocess.run(["mount", "-o", "remount,size=200k", small_disk], check=True)
    assert convert(source, small_disk / "out", "--format", "npy", "--shards", "10")["reused_shards"] > 0
    assert len(hr.read(small_disk / "out")) == 20


def test_what_a_killed_run_left_makes_room_first(tmp_path, small_disk):
    source = records_of(tmp_path / "in.npy", 4000, 30)
    left = small_disk / "out.npy.partial"
    (left / ".data").mkdir(parents=True)
    (left / "journal").write_text('{"unfinished_dataset":1,"identity":null}\n')
    with (
        pytest.raises(OSError, match="No space"),
        (left / ".data" / "out.npy").open("wb", buffering=0) as file,
    ):
        while file.write(bytes(4096)):
            pass
    assert convert(source, small_disk / "out.npy", "--take", "5")["samples"] == 5


def test_smaller_images_are_marked_as_lossy(photos, tmp_path):
    report = convert(
        photos / "30", tmp_path / "out", "--format", "webdataset", "--max-side", "40", "--where", "label==1"
    )
    assert report["samples"] == 15
    manifest = json.loads((tmp_path / "out.headrace.json").read_text())
    assert manifest["metadata"]["lossy"]["quality"] == 90
    sizes = {max(s.shape) for s in hr.read(tmp_path / "out").map(lambda s: hr.ops.decode_image(s["jpg"]))}
    assert sizes == {40}


def test_broken_images_are_left_out_and_listed(photos, tmp_path):
    source = tmp_path / "source"
    for path in sorted((photos / "20").rglob("*.jpg")):
        target = source / path.relative_to(photos / "20")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes()[: -40 if path.name == "03.jpg" else None])
    report = convert(source, tmp_path / "out.tar", "--drop-broken", "--verify")
    assert (report["samples"], report["broken"]) == (19, 1)
    broken = json.loads(Path(f"{tmp_path}/out.tar.quarantine.json").read_text())["broken"]
    assert "dog/03.jpg" in broken[0]["reason"]


def test_fields_are_chosen_and_named(photos, tmp_path):
    target = tmp_path / "folders" / "that are not there" / "x.tar"
    convert(photos / "20", target, "--fields", "cls=label,jpg=image")
    (tar,) = hr.read(target, fields=["cls", "jpg"]).batch(20)
    (folder,) = hr.read(photos / "20").batch(20)
    assert tar["cls"].tolist() == folder["label"].tolist() and tar["jpg"] == folder["image"]
    convert(target, tmp_path / "x.lmdb", "--fields", "jpg,cls")
    (lmdb,) = hr.read(tmp_path / "x.lmdb", values="datum").batch(20)
    assert lmdb["image"] == folder["image"] and lmdb["label"].tolist() == folder["label"].tolist()
    back = tmp_path / "back"
    convert(target, back, "--format", "image_folder", "--fields", "image=jpg,label=cls")
    assert sorted(b for s in hr.read(back) for b in [s["image"]]) == sorted(folder["image"])
    for fields, told in {
        "jgp": "there is no field 'jgp', did you mean 'jpg'? (__key__: str",
        "a=jpg,a=cls": "'a' is given twice",
        "=jpg": "there is no field",
    }.items():
        error = convert(target, tmp_path / "y.arrow", "--fields", fields, code=2)
        assert told in str(error), error
    error = convert(target, tmp_path / "y.arrow", "--where", "clss==1", code=2)
    assert "--where: there is no field 'clss', did you mean 'cls'?" in str(error)
    assert not (tmp_path / "y.arrow").exists()


def test_a_condition_that_nothing_meets_is_told(photos, tmp_path):
    command = [executable(), "convert", photos / "20", tmp_path / "x.tar", "--where", "label==7"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "0 samples" in done.stdout and "no sample matches --where\n" in done.stdout
    command = [executable(), "convert", photos / "20", tmp_path / "y.tar", "--where", "label==1"]
    assert "--where" not in subprocess.run(command, check=True, capture_output=True, text=True).stdout


SMALL = Path(__file__).parent.parent / "sources/data"
ZERO = ("--source-option", "nulls=zero")


def test_a_name_stands_for_the_fields_below_it(tmp_path):
    convert(SMALL / "texts.arrow", tmp_path / "x.parquet", "--fields", "texts=captions", *ZERO)
    assert [s["texts"]["values"] for s in hr.read(tmp_path / "x.parquet")] == [
        "a caton a mät",
        "",
        "dogx",
        "y" * 9,
    ]
    pq = pytest.importorskip("pyarrow.parquet")
    assert pq.read_table(tmp_path / "x.parquet").column("texts").to_pylist() == [
        ["a cat", "on a mät"], [], ["", "dog", "x"], ["y"] * 9
    ]  # fmt: skip
    error = convert(
        SMALL / "texts.arrow", tmp_path / "y.arrow", "--fields", "a=captions,a/values=tags/values", code=2
    )
    assert "'a/values' is given twice" in str(error)


def test_nulls_of_fields_that_are_not_written_do_not_matter(tmp_path):
    source = SMALL / "nulls.parquet"
    convert(source, tmp_path / "a.arrow", "--fields", "whole")
    assert [int(s["whole"]) for s in hr.read(tmp_path / "a.arrow")] == [7, 8, 9, 10]
    by_column = ("--source-option", 'nulls={"n": "zero"}')
    convert(source, tmp_path / "b.arrow", "--fields", "n,whole", *by_column)
    assert [int(s["n"]) for s in hr.read(tmp_path / "b.arrow")] == [1, 0, 3, 0]
    told = str(convert(source, tmp_path / "c.arrow", code=1))
    assert "got null; --source-option nulls=zero reads it as zeros" in told, told
    told = subprocess.run(
        [executable(), "verify", source], check=False, capture_output=True, text=True
    ).stdout
    assert "got null; --option nulls=zero reads it as zeros" in told and 'nulls="' not in told
    floats = tmp_path / "floats.csv"
    convert(SMALL / "typed.parquet", floats, "--fields", "x,y", "--source-option", "nulls=nan")
    assert floats.read_text().splitlines()[1:3] == ["1.5,nan", "nan,2.0"]
    away = tmp_path / "odd columns=2 nulls=x" / "x.parquet"  # what is the user's stays as it is
    told = subprocess.run([executable(), "inspect", away], check=False, capture_output=True, text=True).stderr
    assert f"'{away}'" in told


def test_columns_that_become_plain_numbers_are_told(tmp_path):
    source = SMALL / "typed.parquet"
    chosen = ["--fields", "when=ts,price,d,n", *ZERO]
    told = convert(source, tmp_path / "a.arrow", *chosen)
    types = {"when": "timestamp[us, tz=UTC]", "price": "decimal128(10, 2)", "d": "date32[day]"}
    assert told["plain_numbers"] == types
    command = [executable(), "convert", source, tmp_path / "b.arrow", *chosen]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    line = "when (timestamp[us, tz=UTC]), price (decimal128(10, 2), rounded), d (date32[day])"
    assert f"written as plain numbers: {line}\n" in text
    assert "plain_numbers" not in convert(source, tmp_path / "c.arrow", "--fields", "n", *ZERO)
    inspected = [executable(), "inspect", source, "--option", "nulls=zero"]
    text = subprocess.run(inspected, check=True, capture_output=True, text=True).stdout
    assert "ts           int64 ()   timestamp[us, tz=UTC]\n" in text
    text = subprocess.run([*inspected, "--json"], check=True, capture_output=True, text=True).stdout
    assert json.loads(text)["metadata"]["types"]["took"] == "duration[s]"


def test_columns_that_are_not_read_are_told(tmp_path):
    told = convert(SMALL / "maps.arrow", tmp_path / "x.arrow")
    assert told["left_out_columns"] == ["m", "lists"]
    command = [executable(), "convert", SMALL / "maps.arrow", tmp_path / "y.arrow"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "left out: columns m, lists, whose types are not supported" in text
    # Who says which fields there are to be knows that the others are not.
    field = next(iter(hr.read(SMALL / "maps.arrow").schema))
    command = [executable(), "convert", SMALL / "maps.arrow", tmp_path / "z.arrow", "--fields", field]
    assert "left out" not in subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert hr.read(SMALL / "maps.arrow").metadata["left_out_columns"] == ["m", "lists"]
    with pytest.raises(
        NotImplementedError, match=r"cannot read column 'm' \(maps\); select others with columns=: x$"
    ):
        hr.read(SMALL / "maps.arrow", columns=["m"])


def test_what_is_not_ours_is_not_said_to_be_replaced(photos, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    for target in (tmp_path / "mine", "/dev/full"):
        told = str(convert(photos / "20", target, "--format", "tfrecord", code=1))
        assert "exists already, and overwrite=True (--overwrite) replaces only a data set" in told, told
        assert "replaces it" not in told
        assert "remove it yourself" in told
    convert(photos / "20", tmp_path / "ours.tar")
    told = convert(photos / "20", tmp_path / "ours.tar", code=1)
    assert "exists already; overwrite=True (--overwrite) replaces it" in told


def test_wrong_arguments_are_told(photos, tmp_path):
    assert "names no format that can be written" in convert(photos / "20", tmp_path / "out.abc", code=2)
    assert "label==3" in convert(photos / "20", tmp_path / "out.tar", "--where", "label", code=2)
    both = ["--format", "webdataset", "--shards", "2", "--shard-size", "1MB"]
    assert "--shards or --shard-size" in convert(photos / "20", tmp_path / "out", *both, code=2)
    assert '"150MB"' in convert(photos / "20", tmp_path / "out.tar", "--shard-size", "big", code=2)


@pytest.mark.parametrize("name", ["photos.arrow", "photos.tar", "photos.h5"])
def test_an_index_lies_beside_what_was_converted(photos, tmp_path, name):
    convert(photos / "20", tmp_path / name, "--index")
    kept = {path.name.split("-")[0] for path in (tmp_path / ".headrace").glob("*.hri")}
    assert "points" in kept
    assert any(stem.startswith(f"{name}.") for stem in kept)
    assert len(hr.read(tmp_path / name)) == 20


def test_images_do_not_shrink_without_what_lies_in_them(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(4):
        name = tmp_path / f"{i}.jpg"
        Image.fromarray(rng.integers(0, 255, (64, 96, 3), np.uint8)).save(name)
        rows.append(
            {"image": name.read_bytes(), "boxes": np.float32([[0, 0, 96, 64]]), "image_height": 64, "num_boxes": 1,
             "label": i}
        )  # fmt: skip
    hr.from_list(rows).write(tmp_path / "a.arrow")
    said = convert(tmp_path / "a.arrow", tmp_path / "b.arrow", "--max-side", 48, code=2)
    assert (
        "not what belongs to their size: boxes,image_height; leave these out with --fields image,num_boxes,label"
        in said
    )
    assert "--unscaled boxes,image_height" in said
    assert not (tmp_path / "b.arrow").exists()
    convert(tmp_path / "a.arrow", tmp_path / "b.arrow", "--max-side", 48, "--fields", "image,num_boxes,label")
    assert list(hr.read(tmp_path / "b.arrow").schema) == ["image", "num_boxes", "label"]
    convert(tmp_path / "a.arrow", tmp_path / "c.arrow", "--max-side", 48, "--unscaled", "boxes,image_height")
    assert hr.read(tmp_path / "c.arrow")[0]["boxes"].tolist() == [[0, 0, 96, 64]]
    convert(tmp_path / "a.arrow", tmp_path / "d.arrow", "--quality", 80)
    assert "there is no field 'boxen'" in convert(
        tmp_path / "a.arrow", tmp_path / "e.arrow", "--max-side", 48, "--unscaled", "boxen", code=2
    )
