"""Names from a data set can neither command a terminal, nor forge a line of output, nor leave an archive."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr

TITLE, FORGED, TURNED = "\x1b]0;OWNED\x07", "bad\nX: y\r.png", "\u202egnp.exe\x9b31m.png"
SHOWN = ("\\x1b]0;OWNED\\x07", "bad\\nX: y\\r.png", "\\u202egnp.exe\\x9b31m.png")


def odd(text: str) -> list[str]:
    """Return what a terminal would obey, or show elsewhere than it is."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "d"
    for folder in ("cat", TITLE):
        (root / folder).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(root / folder / "x.png")
    (root / "cat" / FORGED).write_bytes(b"\x89PNG\r\n\x1a\nno image")
    (root / "cat" / TURNED).write_bytes(b"\x89PNG\r\n\x1a\nno image")
    return root


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import headrace_cli; headrace_cli.main()", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_no_text_of_the_command_line_holds_control_characters(root: Path, tmp_path: Path) -> None:
    out = {name: command(name, root) for name in ("inspect", "verify", "doctor", "explain", "run")}
    out["convert"] = command("convert", root, tmp_path / "out.tfrecord", "--on-error", "skip")
    out["convert to itself"] = command("convert", root, tmp_path / TITLE / "x\n.tfrecord")
    out["view"] = command("view", root, "--out", tmp_path / "view.png")
    for name in (FORGED, TITLE, TURNED):
        out[f"missing {name!r}"] = command("inspect", root / f"none{name}")
        out[f"format {name!r}"] = command("inspect", root, "--format", name)
        out[f"option {name!r}"] = command("inspect", root, "--option", f"{name}=1")
        out[f"word {name!r}"] = command(name)
    for name, done in out.items():
        assert odd(done.stdout + done.stderr) == [], name
    assert SHOWN[0] in out["inspect"].stdout
    lines = out["verify"].stdout.splitlines()
    assert sum(line.startswith(str(root)) for line in lines) == 3  # two samples, and the summary
    assert all(any(name in line for line in lines) for name in SHOWN[1:])
    assert not any(line.startswith("X: y") for line in lines)


def test_json_has_the_names_themselves(root: Path) -> None:
    found = json.loads(command("inspect", root, "--json").stdout)
    assert TITLE in found["metadata"]["classes"]
    broken = json.loads(command("verify", root, "--json").stdout)["broken"]
    assert {one["file"] for one in broken} == {
        f"{root}/cat/{FORGED}",
        f"{root}/cat/{TURNED}",
    }


def test_a_dataset_shows_its_fields_escaped(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({TITLE: 1, FORGED: 2, TURNED: 3}) + "\n", encoding="utf-8")
    ds = hr.read(tmp_path / "a.jsonl")
    assert not odd(repr(ds)) and all(name in repr(ds) for name in SHOWN)
    assert list(ds.schema) == [TITLE, FORGED, TURNED]


def test_messages_and_warnings(root: Path) -> None:
    data = hr.read(root)
    assert TITLE in data.metadata["classes"]
    texts = []
    for sample in range(len(data)):
        try:
            data.map(lambda s: {"x": hr.ops.decode_image(s.image)})[sample]
        except ValueError as error:
            texts.append(str(error))
    assert len(texts) == 2 and any(SHOWN[1] in text for text in texts)
    for name in (TITLE, FORGED, TURNED):
        with pytest.raises(FileNotFoundError) as missing:
            hr.read(root / f"none{name}")
        texts.append(str(missing.value))
    (root / "empty\x1b[2J\n").mkdir()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        hr.read(root)
    texts += [str(one.message) for one in told]
    assert any("empty\\x1b[2J\\n" in text for text in texts)
    for text in texts:
        assert odd(text) == [] and "\n" not in text, text
    assert odd(data.batch(2).explain()) == []


OUT = [
    "../x",
    "a/../../x",
    "/abs/x",
    "..",
    "a/..",
    "C:/x",
    "c:x",
    "..\\x",
    "a\\..\\..\\x",
    "\\\\host\\x",
    "a\0b",
]


@pytest.mark.parametrize("name", OUT)
def test_no_member_leads_out(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a name that stays inside|whose last part has no dot"):
        hr.from_list([{"__key__": name, "x": np.int64(1)}]).write(tmp_path / "x.tar")
    image = io.BytesIO()
    Image.new("RGB", (4, 4)).save(image, "png")
    labelled = hr.from_list([{"image": image.getvalue(), "label": 0}])
    with pytest.raises(ValueError, match="classes"):
        labelled.write(tmp_path / "set", format="image_folder", options={"classes": [name]})
    if "\0" not in name:
        with pytest.raises(ValueError, match="names"):
            hr.from_list([{name: np.int64(1)}]).write(tmp_path / "x.zarr")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [("../../evil", "leads out of it"), ("/abs/PWN2", "is absolute"), ("C:/x", "begins with a drive letter")],
)
def test_convert_does_not_pass_such_members_on(name: str, why: str, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "in.tar", "w") as file:
        member = tarfile.TarInfo(f"{name}.txt")
        member.size = 2
        file.addfile(member, io.BytesIO(b"hi"))
    done = command("convert", tmp_path / "in.tar", tmp_path / "out.tar")
    assert done.returncode == 1
    assert why in done.stderr and re.search(r"change the names with map", done.stderr)
    assert not os.path.lexists(tmp_path / "out.tar")
