"""`headrace doctor`: it finds what was planted, all of it and nothing else, in every container."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .test_command_line import ROOT, executable, headrace, pytestmark  # noqa: F401  the same condition

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")
hr = pytest.importorskip("headrace")

CLASSES = ("cat", "dog", "eel", "fox")
SIDE = 160  # of an ordinary photograph, more or less


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The user's cache folder is left alone, and that of temporary files."""
    for name, variable in (("cache", "XDG_CACHE_HOME"), ("tmp", "TMPDIR")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    return tmp_path / "cache"


def photo(seed, height=SIDE, width=SIDE):
    """Colours that change from place to place, with grain, as in photographs."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), np.int16)
    return Image.fromarray((smooth + rng.integers(-9, 10, smooth.shape)).clip(0, 255).astype(np.uint8))


def write_photos(root, per_class=12):
    """Photographs of four classes, of sizes around the usual one; all different."""
    for label, name in enumerate(CLASSES):
        (root / name).mkdir(parents=True, exist_ok=True)
        for i in range(per_class):
            image = photo(label * 1000 + i, SIDE - 20 + 3 * i, SIDE + 20 - 3 * i)
            image.save(root / name / f"{i:02}.jpg", quality=90)
    return root


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("doctor") / "photos")


def plant(root):
    """Put one of everything into the photographs; answer what is where, by kind."""
    for i, name in enumerate(("one", "two", "three")):
        (root / "cat" / f"cut {name}.jpg").write_bytes((root / "cat" / f"{i:02}.jpg").read_bytes()[:-900])
    (root / "dog" / "text.jpg").write_text("no image")
    (root / "dog" / "empty.jpg").write_bytes(b"")
    shutil.copy(root / "cat" / "05.jpg", root / "cat" / "copy.jpg")
    shutil.copy(root / "cat" / "05.jpg", root / "cat" / "copy again.jpg")
    shutil.copy(root / "eel" / "07.jpg", root / "eel" / "same.jpg")
    shutil.copy(root / "dog" / "03.jpg", root / "fox" / "dog.jpg")  # under another label
    photo(1, 12, 14).save(root / "cat" / "tiny.jpg", quality=90)
    photo(2, 9 * SIDE, 9 * SIDE).save(root / "dog" / "huge.jpg", quality=90)
    photo(3, 60, 400).save(root / "eel" / "wide.jpg", quality=90)
    y, x = np.mgrid[0:400, 0:400]
    fog = np.stack([x // 40 + 90, y // 40 + 60, 0 * x + 40], axis=2).astype(np.uint8)
    Image.fromarray(fog).save(root / "eel" / "fog.jpg", quality=10, optimize=True, progressive=True)
    with (root / "fox" / "00.jpg").open("rb") as file:
        (root / "fox" / "padded.jpg").write_bytes(file.read()[:-2] + b"\xff\xd9" + bytes(600_000))
    photo(4).convert("L").save(root / "dog" / "grey.jpg", quality=90)
    photo(5).convert("L").convert("RGB").save(root / "dog" / "grey in colour.png")
    photo(6).convert("CMYK").save(root / "eel" / "inks.jpg", quality=90)
    photo(7).convert("RGBA").save(root / "eel" / "glass.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    photo(8).save(root / "fox" / "turned.jpg", quality=90, exif=exif)
    Image.new("RGB", (SIDE, SIDE), (90, 30, 200)).save(root / "fox" / "plain.jpg", quality=90)
    return {
        "broken": [
            "cat/cut one.jpg",
            "cat/cut three.jpg",
            "cat/cut two.jpg",
            "dog/empty.jpg",
            "dog/text.jpg",
        ],
        "groups": [["cat/05.jpg", "cat/copy again.jpg", "cat/copy.jpg"], ["eel/07.jpg", "eel/same.jpg"]],
        "conflicts": [["dog/03.jpg", "fox/dog.jpg"]],
        "tiny": ["cat/tiny.jpg"],
        "huge": ["dog/huge.jpg"],
        "odd_aspect": ["eel/wide.jpg"],
        "few_bytes": ["eel/fog.jpg"],
        "many_bytes": ["fox/padded.jpg"],
        "grey": ["dog/grey in colour.png", "dog/grey.jpg"],
        "cmyk": ["eel/inks.jpg"],
        "alpha": ["eel/glass.png"],
        "turned": ["fox/turned.jpg"],
        "one_colour": ["fox/plain.jpg"],
        "colour": [],
        "many_bits": [],
    }


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The folder, and what is odd in it."""
    root = write_photos(tmp_path_factory.mktemp("doctor") / "planted")
    return root, plant(root)


def doctor(*arguments, code=0, advice=False):
    done = headrace("doctor", *arguments, "--json", *([] if advice else ["--no-advice"]))
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def found(report, name):
    """What was found of each kind, `name(sample)` of each sample, as plant() gives it."""
    duplicates = report["duplicates"]
    out = {
        "broken": [name(sample) for sample in report["broken"]],
        "groups": [[name(sample) for sample in group] for group in duplicates["groups"]],
        "conflicts": [[name(sample) for sample in group] for group in duplicates["conflicts"]],
    }
    return out | {
        kind: [name(sample) for sample in one["samples"]] for kind, one in report["suspicious"].items()
    }


def test_clean_data_give_nothing(clean):
    report = doctor(clean)
    assert (report["samples"], report["looked_at"], report["images"]) == (48, 48, True)
    assert {kind for kind, samples in found(report, str).items() if samples} == set()
    assert report["labels"]["judged"] and not report["labels"]["skewed"]
    assert report["labels"]["effective_classes"] == pytest.approx(4)
    assert report["advice"] is None


def test_clean_data_are_told_so_in_words(clean):
    done = headrace("doctor", clean, "--no-advice")
    assert done.returncode == 0 and done.stderr == ""
    lines = [re.sub(r" +", " ", line) for line in done.stdout.splitlines()]
    assert lines[0] == f"{clean}: 48 samples of image_folder"
    assert {"broken none", "duplicates none", "suspicious none"} <= set(lines)
    assert "labels balanced: 4 classes of 12 samples each" in lines
    assert "advice" not in done.stdout


def test_exactly_what_was_planted_is_found(planted):
    root, expected = planted
    report = doctor(root, code=1)
    assert found(report, lambda sample: str(Path(sample["file"]).relative_to(root))) == expected
    assert report["duplicates"]["repeated"] == 4
    assert sum(report["reasons"].values()) == 5


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("x.tfrecord", []),
        ("x.tar", []),
        ("x.arrow", []),
        ("x.rec", []),
        ("x.h5", []),
        ("x.lmdb", ["--option", "values=datum"]),
    ],
)
def test_the_same_is_found_in_containers(planted, tmp_path, name, options):
    root, expected = planted
    target = tmp_path / name
    # An empty file is no image that every format holds; the others go into all of them.
    shutil.copytree(root, tmp_path / "folder")
    (tmp_path / "folder" / "dog" / "empty.jpg").unlink()
    if name == "x.tar":  # members are known by their endings: .png would be another field
        for path in (tmp_path / "folder").rglob("*.png"):
            path.rename(path.with_suffix(".jpg"))
    assert headrace("convert", tmp_path / "folder", target).returncode == 0
    by_file = {str(Path(one).relative_to(tmp_path / "folder").with_suffix("")): i
               for i, one in enumerate(sorted(str(path) for path in (tmp_path / "folder").rglob("*.*")))}  # fmt: skip

    def indices(one):
        return sorted(indices(x) if isinstance(x, list) else by_file[x.rsplit(".", 1)[0]] for x in one)

    expected = dict(expected, broken=[x for x in expected["broken"] if x != "dog/empty.jpg"])
    report = doctor(target, *options, code=1)
    got = found(report, lambda sample: sample["index"])
    assert {kind: sorted(samples) for kind, samples in got.items()} == {
        kind: indices(samples) for kind, samples in expected.items()
    }
    assert report["labels"]["classes"] == 4


def test_the_same_image_under_two_labels_is_said_apart(planted):
    root, _ = planted
    done = headrace("doctor", root, "--no-advice")
    assert done.returncode == 1
    worse, rest = done.stdout.split("more than once")
    assert f"{root}/dog/03.jpg  (dog)" in worse and f"= {root}/fox/dog.jpg  (fox)" in worse
    assert "1 image under different labels" in re.sub(r"\s+", " ", worse)
    assert f"= {root}/cat/copy.jpg" in rest


def test_one_copy_repeats_another(tmp_path):
    root = write_photos(tmp_path / "photos", 2)
    shutil.copy(root / "cat" / "01.jpg", root / "cat" / "copy.jpg")
    text = re.sub(r"\s+", " ", headrace("doctor", root, "--no-advice").stdout)
    assert (
        "1 sample is an exact copy of another" in text and "1 image more than once: it counts double" in text
    )


def test_names_that_are_no_files_are_told(tmp_path):
    root = write_photos(tmp_path / "photos", 2)
    (root / "cat" / "dangling.jpg").symlink_to("/nope.jpg")
    os.mkfifo(root / "dog" / "pipe.jpg")
    (root / "eel" / "folder.jpg").mkdir()
    for command in ("doctor", "inspect", "verify"):
        done = headrace(command, root)
        assert done.returncode == 1
        assert "cat/dangling.jpg': a link that leads nowhere" in done.stderr
    report = doctor(root, "--skip-unreadable")
    assert report["unreadable"] == [
        {"path": f"{root}/cat/dangling.jpg", "reason": "a link that leads nowhere"}
    ]
    problems = {one["path"]: one["reason"] for one in report["problems"]}
    assert problems == {
        "dog/pipe.jpg": "neither a file nor a folder",
        "eel/folder.jpg": "a folder",
    }
    for command in (["doctor", root, "--no-advice"], ["inspect", root]):
        text = headrace(*command, "--skip-unreadable").stdout
        assert "left out" in text and "2 names that are not files" in text
        assert f"{root}/dog/pipe.jpg: neither a file nor a folder" in text
        assert "1 name that could not be read is left out" in re.sub(r"\s+", " ", text)
    assert "problems" not in doctor(root / "fox")


def test_text_shows_ten_and_says_how_many_more(tmp_path):
    root = write_photos(tmp_path / "photos", 8)
    for i in range(13):
        (root / "cat" / f"broken {i:02}.jpg").write_bytes(b"\xff\xd8\xff" + bytes(i))
    done = headrace("doctor", root, "--no-advice")
    assert done.returncode == 1
    assert done.stdout.count("/cat/broken ") == 10
    assert "… and 3 more: --json lists all of them" in done.stdout
    assert len(doctor(root, code=1)["broken"]) == 13


def test_our_lines_are_short(planted, large):
    for root in (planted[0], large):
        for line in headrace("doctor", root, *["--no-advice"] * (root != large)).stdout.splitlines():
            assert len(line) <= 100 or str(root) in line, line


def test_some_samples_are_looked_at_when_some_are_wanted(clean):
    report = doctor(clean, "--samples", 12)
    assert (report["samples"], report["looked_at"]) == (48, 12)
    assert report["labels"]["largest"]["samples"] == 3  # evenly spread
    text = headrace("doctor", clean, "--samples", 12, "--no-advice").stdout
    assert "12 of them, evenly spread" in text and "what follows is about these" in text


def test_labels_out_of_balance_are_named(tmp_path):
    root = tmp_path / "photos"
    rows = [("cat", 60), ("dog", 60), ("eel", 60), ("fox", 5)]
    for label, (name, count) in enumerate(rows):
        (root / name).mkdir(parents=True)
        for i in range(count):
            photo(100 * label + i, 40, 48).save(root / name / f"{i:02}.jpg")
    labels = doctor(root)["labels"]
    assert labels["skewed"] and labels["ratio"] == 12
    assert labels["rare"] == [{"label": "3", "samples": 5}] and labels["large"] == []
    shares = np.array([count for _, count in rows]) / sum(count for _, count in rows)
    assert labels["entropy_bits"] == pytest.approx(-(shares * np.log2(shares)).sum())
    text = re.sub(r"\s+", " ", headrace("doctor", root, "--no-advice").stdout)
    assert "skewed: cat has 12 times the samples of fox" in text and "fox (5)" in text


def test_classes_without_a_sample_are_named(clean, tmp_path):
    assert headrace("convert", clean, tmp_path / "x.arrow", "--where", "label!=1").returncode == 0
    labels = doctor(tmp_path / "x.arrow")["labels"]
    assert labels["empty"] == ["1"] and labels["classes"] == 3
    text = headrace("doctor", tmp_path / "x.arrow", "--no-advice").stdout
    assert "named classes without samples: dog (0)" in text
    # Of some of the samples nobody knows.
    assert doctor(tmp_path / "x.arrow", "--samples", 30)["labels"]["empty"] == []


def test_rows_of_a_table_are_compared_without_their_label(tmp_path):
    rows = [f"{i % 37},{i * i},{i % 3}" for i in range(90)]
    rows += [rows[4], "5,25,0"]  # the first as it was; the second with another label than row 5 has
    (tmp_path / "t.csv").write_text("a,b,label\n" + "\n".join(rows) + "\n")
    report = doctor(tmp_path / "t.csv", "--format", "csv")
    assert report["duplicates"]["of"] == ["a", "b"] and not report["images"]
    assert found(report, lambda sample: sample["index"]) == {
        "broken": [], "groups": [[4, 90]], "conflicts": [[5, 91]], "few_bytes": [], "many_bytes": [],
    }  # fmt: skip
    assert report["labels"]["classes"] == 3
    text = headrace("doctor", tmp_path / "t.csv", "--format", "csv", "--no-advice").stdout
    assert "there are no images, so only sizes are judged" in text and "decode" not in text


def test_text_has_lines_that_are_empty_or_huge(tmp_path):
    lines = [f"line {i:03} of some words" for i in range(200)]
    lines[20] = ""
    lines[30] = "x" * 9000
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    report = doctor(tmp_path / "t.txt", "--format", "text")
    got = {
        kind: samples for kind, samples in found(report, lambda sample: sample["index"]).items() if samples
    }
    assert got == {"few_bytes": [20], "many_bytes": [30]}
    assert report["labels"] is None
    assert "none: no field is a label" in headrace("doctor", tmp_path / "t.txt", "--format", "text").stdout


def test_small_images_are_not_odd_where_all_are_small(tmp_path):
    for i in range(40):
        (tmp_path / "digits" / str(i % 10)).mkdir(parents=True, exist_ok=True)
        photo(i, 28, 28).convert("L").save(tmp_path / "digits" / str(i % 10) / f"{i}.png")
    report = doctor(tmp_path / "digits")
    assert {kind for kind, samples in found(report, str).items() if samples} == set()


def test_slow_samples_are_named_with_their_times(tmp_path):
    root = tmp_path / "small"
    root.mkdir()
    for i in range(40):
        photo(i, 64, 64).save(root / f"{i:02}.jpg")
    photo(99, 2400, 2400).save(root / "17.jpg", quality=95)
    slow = doctor(root)["slow"]
    (one,) = [sample for sample in slow["samples"] if sample["decode_ms"] >= slow["threshold_decode_ms"]]
    assert one["file"] == str(root / "17.jpg") and (one["height"], one["width"]) == (2400, 2400)
    assert one["decode_ms"] > 10 * slow["median_decode_ms"] > 0
    text = headrace("doctor", root, "--no-advice").stdout
    assert re.search(rf"{root}/17.jpg  \([\d.]+ ms to read, [\d.]+ ms to decode; 2400 x 2400, ", text)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Photographs that are worth making smaller."""
    root = tmp_path_factory.mktemp("doctor") / "large photos"
    for i in range(24):
        (root / CLASSES[i % 4]).mkdir(parents=True, exist_ok=True)
        photo(i, 800, 1200).save(root / CLASSES[i % 4] / f"{i}.jpg", quality=95)
    os.sync()
    return root


@pytest.fixture(scope="module")
def advised(large, tmp_path_factory):
    """What is advised for these, and the folder in which that was measured."""
    folder = tmp_path_factory.mktemp("doctor") / "home"
    (folder / "tmp").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("TMPDIR", str(folder / "tmp"))
        before = {path: path.stat().st_mtime_ns for path in large.rglob("*")}
        report = doctor(large, advice=True)
        assert {path: path.stat().st_mtime_ns for path in large.rglob("*")} == before
    return report["advice"], folder


@pytest.mark.alone(ci=True)
def test_advice_is_made_of_measurements(large, advised):
    advice, _ = advised
    assert advice["machine"]["cores"] >= 1 and advice["machine"]["memory"] > 0
    assert advice["data_bytes"] == sum(path.stat().st_size for path in large.rglob("*.jpg"))
    assert advice["pixel_bytes"] == 24 * 800 * 1200 * 3
    reading = advice["reading"]
    assert reading["samples"] == reading["files"] == 24 and reading["bytes"] == advice["data_bytes"]
    ways = {"as_they_lie", "one_file_shuffled", "one_file_in_order"}
    for layouts in filter(None, (reading["disk"], reading["memory"])):
        assert set(layouts) == ways and all(layouts[way]["samples_per_s"] > 0 for way in ways)
        assert {layouts[way]["readers"] for way in ways} <= {1, 4, 16, 64}
    # It says which of the two it measured: what came from memory is never called the disk.
    assert reading["disk"] or reading["skipped"]
    for way in ways if reading["disk"] else ():
        assert reading["disk"][way]["from_disk"] >= 0.9
    assert {one["format"] for one in advice["containers"]["others"]} >= {"arrow", "tfrecord"}
    pixels = advice["pixels"]
    assert pixels["crop_side"] == 224 and pixels["images"] >= 6
    # A crop is less than all pixels; points and smaller images make it less still.
    assert pixels["crop_ms"] < pixels["whole_ms"] < pixels["crop_after_whole_ms"]
    # The engine behind a cache does more than the crop: what it takes is counted.
    assert 0 < pixels["cached_ms"] < pixels["cached_first_epoch_ms"]
    (cache,) = [one for one in advice["items"] if one["name"] == "cache"]
    assert f"at most {cache['later_epochs']:.1f}x faster from the second epoch on" in cache["text"]
    now = advice["containers"]["as_they_lie_cpu_us"] / 1e3 + pixels["entropy_points"][0]["crop_ms"]
    assert cache["later_epochs"] == pytest.approx(now / pixels["cached_ms"]) and cache["first_epoch"] <= 1
    assert [one["step"] for one in pixels["entropy_points"]] == [0, 8]
    sides = [one["max_side"] for one in pixels["resized"]]
    assert sides == [1024, 768, 512]
    assert [one["bytes"] for one in pixels["resized"]] == sorted(
        (one["bytes"] for one in pixels["resized"]), reverse=True
    )
    assert all(one["bytes"] < pixels["bytes"] for one in pixels["resized"])


def test_the_marks_before_advice_are_explained(large):
    text = headrace("doctor", large).stdout  # fewer samples are too little to measure on a quick machine
    legend = text.index("* worth a try; - measured ")
    assert legend < text.index("\n  * ") and legend < text.index("\n  - ")


@pytest.mark.alone
def test_commands_that_are_advised_work(advised, tmp_path):
    items = advised[0]["items"]
    commands = [one["how"] for one in items if one["how"].startswith("headrace ")]
    assert any("--max-side 512" in one for one in commands), items
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "headrace"
        done = headrace(*arguments, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_commands_that_are_advised_read_the_data_as_they_were_read(large, tmp_path):
    assert headrace("convert", large, tmp_path / "x.lmdb").returncode == 0
    items = doctor(tmp_path / "x.lmdb", "--option", "values=datum", advice=True)["advice"]["items"]
    (smaller,) = [one["how"] for one in items if one["name"] == "max_side_512"]
    assert smaller.startswith(f"headrace convert --source-option values=datum {tmp_path}/x.lmdb x-512.")
    assert headrace(*shlex.split(smaller)[1:], cwd=tmp_path).returncode == 0
    (index,) = [one["how"] for one in items if one["name"] == "entropy_points"]
    assert index in {"", *(f"headrace index --option values=datum {tmp_path}/x.lmdb{step}" for step in ("", " --step 8"))}  # fmt: skip


@pytest.mark.alone
def test_python_that_is_advised_works(large, advised):
    ops = pytest.importorskip("headrace.ops")
    items = {one["name"]: one["how"] for one in advised[0]["items"]}
    names = {"data": hr.read(large), "ops": ops}
    cached = eval(items["cache"], names)
    assert cached[0]["image"].shape == (800, 1200, 3)
    crops = hr.read(large).map(lambda s: {"image": eval(items["order"], names, {"s": s})})
    assert crops[0]["image"].shape == (224, 224, 3)


def test_too_little_to_measure_is_said_once_and_nothing_advised(tmp_path):
    for i in range(10):
        (tmp_path / "few" / CLASSES[i % 2]).mkdir(parents=True, exist_ok=True)
        photo(i, 30, 40).save(tmp_path / "few" / CLASSES[i % 2] / f"{i}.png")
    advice = doctor(tmp_path / "few", advice=True)["advice"]
    assert advice["items"] == [] and "10 samples take" in advice["skipped"]
    text = headrace("doctor", tmp_path / "few").stdout
    assert text.count("too little to measure") == 1 and "decoding" not in text and "headrace" not in text


@pytest.mark.parametrize("name", ["nulls.parquet", "typed.parquet"])
def test_nulls_that_break_samples_are_the_first_advice(name):
    source = ROOT / "tests" / "sources" / "data" / name
    first = doctor(source, code=1, advice=True)["advice"]["items"][0]
    assert first["name"] == "nulls" and first["advised"]
    text = headrace("doctor", source).stdout
    assert "keep as is" not in text and "not measured:\n" not in text and "0 B" not in text
    assert f"headrace doctor --option nulls=zero {source}" in text
    assert doctor(*shlex.split(first["how"])[2:], advice=True)["broken"] == []


def test_rows_that_all_have_a_null_are_told_so(tmp_path):
    source = ROOT / "tests" / "sources" / "data" / "typed.parquet"
    chosen = ["--option", 'columns=["x"]', "--option", 'where=[["n", "==", 2]]']
    text = headrace("doctor", source, *chosen).stdout
    assert "nulls in column x break 1 of 1 sample" in " ".join(text.split()), text
    assert "nothing: no sample can be read" in text and "0 B" not in text and "keep as is" not in text
    assert "--option nulls=nan" in text
    assert "slow          not judged: no sample can be read" in text
    for command in ("verify", "inspect"):
        told = headrace(command, source, *chosen).stdout
        assert "--option nulls=nan" in told and "0 B" not in told


@pytest.mark.alone
def test_enough_to_measure_is_measured(advised):
    assert advised[0]["skipped"] == ""


@pytest.mark.alone
def test_nothing_is_left_behind(advised):
    _, folder = advised
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) == [
        "cache", "cache/headrace", "tmp",
    ]  # fmt: skip


def test_nothing_is_left_behind_by_an_interruption(large, cache):
    command = [executable(), "doctor", large]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(cache.glob("headrace/doctor.*")) and running.poll() is None:
        assert time.monotonic() < deadline
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == -signal.SIGINT
    assert list((cache / "headrace").iterdir()) == []


def test_no_advice_writes_nothing(large, cache):
    doctor(large)
    assert list(cache.iterdir()) == []


def test_without_a_place_for_temporary_files_the_rest_is_told(large, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    monkeypatch.setenv("TMPDIR", "/dev/null/none")
    advice = doctor(large, advice=True)["advice"]
    assert "has room for a copy" in advice["reading"]["skipped"] and advice["pixels"]["images"] > 0
    assert advice["limit"] == "unknown"


def test_patterns_and_single_images_are_examined(clean, tmp_path):
    for part in range(2):
        samples = ["--shards", "1", "--format", "tfrecord", "--shuffle", part, "--take", 10]
        assert headrace("convert", clean, tmp_path / f"s{part}", *samples).returncode == 0
    report = doctor(f"{tmp_path}/s*/*.tfrecord")
    assert report["samples"] == 20 and report["format"] == "tfrecord"
    assert doctor(clean / "cat" / "00.jpg")["samples"] == 1


def test_mistakes_are_told(tmp_path):
    for arguments, code, words in (
        ((tmp_path / "nowhere",), 1, "cannot access"),
        ((tmp_path, "--samples", "0"), 2, "--samples"),
        (("--workers",), 2, "--workers"),
    ):
        done = headrace("doctor", *arguments)
        assert done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1
    assert json.loads(headrace("doctor", tmp_path / "nowhere", "--json").stderr)["exit_code"] == 1
    assert "doctor" in headrace("--help").stdout


def test_the_number_of_workers_changes_no_finding(planted):
    root, _ = planted
    keys = ("broken", "reasons", "duplicates", "suspicious", "labels")
    one, many = (doctor(root, "--workers", n, code=1) for n in (1, 5))
    assert {key: one[key] for key in keys} == {key: many[key] for key in keys}


@pytest.mark.alone
def test_every_key_is_documented(advised, planted):
    text = (ROOT / "docs" / "doctor.md").read_text()

    def keys(value):
        if isinstance(value, list):
            return set().union(*map(keys, value)) if value else set()
        if not isinstance(value, dict):
            return set()
        return set(value) | keys([v for k, v in value.items() if k != "reasons"])

    reports = [advised[0], doctor(planted[0], code=1)]
    names = keys(reports)
    assert len(names) > 60
    assert sorted(name for name in names if f"`{name}`" not in text) == []


REAL = Path(os.environ.get("HEADRACE_DATA", "/nonexistent"))


@pytest.mark.skipif(not REAL.is_dir(), reason="needs HEADRACE_DATA")
@pytest.mark.parametrize(
    "name", ["jpeg", "images", "arrow", "hdf5", "lmdb", "shards", "tfrecord", "official_writers"]
)
def test_hostile_files_are_findings_and_no_crash(name):
    folders = sorted({path for path in (REAL / name).iterdir() if path.is_dir()})
    assert folders
    for folder in folders:
        done = subprocess.run(
            [
                executable(),
                "doctor",
                folder,
                "--json",
                *([] if name == "official_writers" else ["--no-advice"]),
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode in (0, 1), (folder, done.stderr)
        assert json.loads(done.stdout or done.stderr)


@pytest.mark.skipif(not REAL.is_dir(), reason="needs HEADRACE_DATA")
def test_photographs_of_imagenet(tmp_path):
    report = doctor(REAL / "imagenet1k")
    assert report["samples"] == 260 and report["broken"] == [] and report["duplicates"]["repeated"] == 0
    truth = [json.loads(line) for line in (REAL / "truth.jsonl").open()]
    here = [one for one in truth if one["path"].startswith("imagenet1k/") and one.get("mode") == "L"]
    grey = {Path(sample["file"]).name for sample in report["suspicious"]["grey"]["samples"]}
    assert {Path(one["path"]).name for one in here} <= grey
