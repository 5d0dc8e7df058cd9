"""Names of files that are no UTF-8, as disks have them."""

import os

import pytest
from PIL import Image

import headrace as hr


@pytest.fixture
def folder(tmp_path):
    """A folder of one class with one image, each of whose names has a byte that is no text."""
    made = tmp_path / os.fsdecode(b"cl\xe9")
    made.mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(made / os.fsdecode(b"im\xe9ge.png"))
    return tmp_path


def test_they_are_read_reported_and_given_back(folder):
    ds = hr.read(folder)
    loader = ds.numpy()
    assert len(list(loader)) == 1
    assert loader.report()["sample_cost"] is not None
    (name,) = ds.metadata["classes"]
    assert os.fsencode(name) == b"cl\xe9"
    assert len(hr.read(folder / name)) == 1


def test_a_message_shows_them_and_can_be_printed(folder):
    name = folder / os.fsdecode(b"cl\xe9/none.png")
    with pytest.raises(FileNotFoundError, match=r"cl\\xe9/none\.png"):
        hr.read(name)
    (folder / os.fsdecode(b"cl\xe9") / os.fsdecode(b"im\xe9ge.png")).write_bytes(b"no image")
    with pytest.raises(hr.CorruptSample, match=r"im\\xe9ge\.png") as raised:
        list(hr.read(folder).map(lambda s: hr.ops.decode_image(s.image)))
    str(raised.value).encode()
