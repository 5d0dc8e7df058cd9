"""The page of `headrace view`: every picture with what it is and where it lies, readable at any width."""

import os
import subprocess
from pathlib import Path

import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .browser import browser, look_at, picture_of
from .pictures import picture

ROOT = Path(__file__).parents[2]
HOSTILE = "<b onclick='x'>&\"</b>"
WIDTHS = (400, 900, 1400)
NUM_PICTURES = {"flat": 13, "wide": 2}


def executable():
    candidates = [os.environ.get("HEADRACE_CLI", ""), *ROOT.glob("build/release/cli/headrace")]
    return next((str(c) for c in candidates if c and Path(c).is_file()), None)


pytestmark = [
    pytest.mark.skipif(executable() is None, reason="the command line is not built: `make build`"),
    pytest.mark.skipif(
        browser() is None, reason="no browser is installed: tools/install_system_packages.sh --dev"
    ),
]


def save(path, seed, height, width):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(seed, height, width)).save(path, "JPEG")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Name to the page of: classes with long names, files without, thumbnails, panoramas, a broken one."""
    folder = tmp_path_factory.mktemp("sheets")
    for i in range(12):
        name = [
            "cat",
            f"a_class_{'with_a_long_name_' * 4}",
            "without-any-place-to-break-it" * 3,
            HOSTILE.replace("/", ""),
        ][i % 4]
        save(folder / "classes" / name / f"{i}_{'x' * (9 * i)}.jpg", i, 200, 260)
        save(folder / "flat" / f"n0{i}_{HOSTILE.replace('/', '')}.jpg", i, 300, 400)
        save(folder / "small" / "digit" / f"{i}.jpg", i, 28, 28)
    broken = folder / "flat" / "n00_broken.jpg"
    broken.write_bytes((folder / "flat" / f"n01_{HOSTILE.replace('/', '')}.jpg").read_bytes()[:900])
    whole = lambda s: {"image": ops.decode_image(s.image)}  # noqa: E731
    save(folder / "wide" / "a.jpg", 1, 40, 900)
    save(folder / "wide" / "b.jpg", 2, 900, 40)
    hr.read(folder / "wide").map(whole).save_plan(folder / "wide.json")
    hr.read(folder / "small").map(whole).save_plan(folder / "small.json")
    sized = lambda s: {"image": ops.resize(ops.decode_image(s.image), size=96)}  # noqa: E731
    batches = hr.read(folder / "small").map(sized).batch(4).map(lambda s: {"image": s.image + 1})
    batches.save_plan(folder / "batches.json")
    out = {}
    for what in ("classes", "flat", "wide.json", "small.json", "batches.json"):
        sheet = folder / f"sheet-of-{what}.png"
        command = [executable(), "view", folder / what, "--count", "13", "--out", sheet]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        out[what.removesuffix(".json")] = sheet.with_suffix(".html")
    return out


@pytest.fixture(scope="module")
def seen(pages):
    return look_at(pages, WIDTHS)


def test_captions_are_whole_and_apart_at_every_width(seen):
    for name, widths in seen.items():
        for width, page in widths.items():
            assert page["trouble"] == [], (name, width)
            assert page["wrong"] == [], (name, width)
            assert page["labels"] == len(page["pictures"]) == NUM_PICTURES.get(name, 12)
            assert all(one["loaded"] and one["alt"] and one["caption"] for one in page["pictures"])
            assert all(8 < one["wide"] <= 224 for one in page["pictures"])


def test_a_caption_says_the_class_and_where_the_sample_lies(seen):
    captions = {name: [one["caption"] for one in widths[900]["pictures"]] for name, widths in seen.items()}
    assert any(one.split("\n") == ["cat (2)", "cat/0_.jpg"] for one in captions["classes"])
    assert any(HOSTILE.replace("/", "") in one for one in captions["classes"])
    names = {f"n0{i}_{HOSTILE.replace('/', '')}.jpg" for i in range(12)}
    assert {one.split("\n")[-1] for one in captions["flat"]} <= names
    assert set(captions["small"]) == {f"{i}.jpg" for i in range(12)}  # the label is not among the fields
    assert sorted(captions["wide"]) == ["a.jpg", "b.jpg"]
    assert captions["batches"] == [f"sample {i}" for i in range(12)]


def test_what_stands_in_for_a_broken_sample_is_named_by_its_own_file(seen):
    captions = [one["caption"].split("\n") for one in seen["flat"][900]["pictures"]]
    assert [one[0] for one in captions if len(one) == 2] == ["replaces a broken sample"]
    assert all("broken" not in one[-1] for one in captions)


def test_the_page_is_dark_where_people_want_it_dark(pages, tmp_path):
    shades = []
    for dark in (False, True):
        out = picture_of(pages["small"], tmp_path / "page.png", width=600, height=500, dark=dark)
        colours = Image.open(out).convert("RGB").getcolors(1 << 20)
        assert len(colours) > 100
        shades.append(sum(max(colours)[1]))
    assert shades[0] > 700
    assert shades[1] < 150
