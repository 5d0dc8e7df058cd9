"""Captions of Flickr8k, beside what a few lines of Python read of the real list."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headrace as hr

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
FLICKR = DATA / "captions/prakhar-dhakar__Image-Captioning"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="HEADRACE_DATA does not say where the real files are"
)


@needs_data
def test_the_real_list_is_what_it_says(tmp_path: Path) -> None:
    wanted: dict[str, list[str]] = {}
    for line in (FLICKR / "Flickr8k.lemma.token.txt").read_text().splitlines():
        name, text = line.split("\t", 1)
        wanted.setdefault(name.rsplit("#", 1)[0], []).append(text.strip())
    for name in wanted:
        (tmp_path / name).write_bytes(name.encode())
    data = hr.read(FLICKR / "Flickr8k.lemma.token.txt", images=str(tmp_path))
    assert len(data) == len(wanted)
    for sample, (name, texts) in zip(data, wanted.items(), strict=True):
        assert sample["image"] == name.encode() and sample["captions"]["values"] == "".join(texts)
        assert sample["captions"]["lengths"].tolist() == [len(text) for text in texts]
    sizes = {}
    for split in ("train", "dev", "test"):
        listed = (FLICKR / f"Flickr_8k.{split}Images.txt").read_text().split()
        part = hr.read_captions(
            FLICKR / "Flickr8k.lemma.token.txt", images=str(tmp_path), split=f"Flickr_8k.{split}Images.txt",
            each="caption",
        )  # fmt: skip
        sizes[split] = len(part)
        assert sizes[split] == sum(len(wanted.get(name, [])) for name in listed)
        assert part[-1]["caption"] in wanted[bytes(part[-1]["image"]).decode()]
    assert sizes["train"] > 29000


def test_a_missing_image_is_an_error_of_its_sample(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(
        "image_name| comment_number| comment\na.jpg| 0| Ein Hündchen .\nb.jpg| 0| b\n"
    )
    (tmp_path / "flickr30k_images").mkdir()
    (tmp_path / "flickr30k_images/a.jpg").write_bytes(b"A")
    data = hr.read(tmp_path / "results.csv")
    assert data[0]["captions"]["values"] == "Ein Hündchen ." and data[0]["captions"]["lengths"].tolist() == [
        15
    ]
    with pytest.raises(FileNotFoundError, match=r"b\.jpg of .*results\.csv"):
        data[1]
    assert len(list(data.on_error("skip"))) == 1
