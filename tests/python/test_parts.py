"""Only the pixels that crops look at are decoded; which files fail must not depend on rewrites."""

import io

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .pictures import picture

SIDE = 160


def file_damaged_below(share: float) -> bytes:
    """A JPEG that ends as it should, with bytes that are no code from `share` of its data on."""
    buffer = io.BytesIO()
    Image.fromarray(picture(3, SIDE, SIDE)).save(buffer, "JPEG", quality=90)
    whole = buffer.getvalue()
    at = int(len(whole) * share)
    return whole[:at] + b"\xff\x00" * 40 + whole[at + 80 :]


@pytest.fixture(params=[0, 3])
def folder(tmp_path, request):
    for i in range(6):
        buffer = io.BytesIO()
        Image.fromarray(picture(i, SIDE, SIDE)).save(buffer, "JPEG", quality=90)
        (tmp_path / f"{i}.jpg").write_bytes(buffer.getvalue())
    (tmp_path / f"{request.param}.jpg").write_bytes(file_damaged_below(0.93))
    return str(tmp_path)


def small_crop(image):
    return ops.random_resized_crop(image, size=32, scale=(0.01, 0.02))


PLANS = {
    "one map": lambda d: d.map(lambda s: {"x": small_crop(ops.decode_image(s.image))}),
    "two maps": lambda d: d.map(lambda s: {"i": ops.decode_image(s.image)}).map(
        lambda s: {"x": small_crop(s.i)}
    ),
    "a verb between": lambda d: (
        d.map(lambda s: {"i": ops.decode_image(s.image)})
        .shuffle(seed=1)
        .map(lambda s: {"x": small_crop(s.i)})
    ),
    "another reader, dropped later": lambda d: d.map(
        lambda s: {"all": ops.resize(ops.decode_image(s.image), size=20), "i": ops.decode_image(s.image)}
    ).map(lambda s: {"x": small_crop(s.i)}),
    "dropped whole": lambda d: d.map(lambda s: {"i": ops.decode_image(s.image), "x": s.image}).map(
        lambda s: {"x": s.x}
    ),
    "the whole image": lambda d: d.map(lambda s: {"x": ops.resize(ops.decode_image(s.image), size=(8, 8))}),
    "behind a border": lambda d: (
        d.filter(lambda s: True, python=True)
        .map(lambda s: {"i": ops.decode_image(s.image), "j": s.image})
        .map(lambda s: {"x": small_crop(s.i)})
    ),
    "before a batch": lambda d: (
        d.map(lambda s: {"i": ops.decode_image(s.image)})
        .map(lambda s: {"x": ops.normalize(small_crop(s.i), mean=(0, 0, 0), std=(1, 1, 1))})
        .batch(2)
    ),
}


def outcome(plan, folder, policy, rewrites):
    dataset = plan(hr.read(folder, format="images"))
    if policy == "replace" and "filter" in dataset.explain():
        pytest.skip("replace needs random access")
    dataset = dataset.on_error(policy).options(rewrites=rewrites, workers=2)
    try:
        return [np.asarray(e["x"]).tobytes() for e in dataset.numpy()]
    except hr.CorruptSample as error:
        return str(error).split(" (map at")[0]


@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_same_files_fail_with_and_without_rewrites(plan, folder, policy):
    expected = outcome(plan, folder, policy, True)
    assert outcome(plan, folder, policy, False) == expected


def test_damage_that_nobody_looks_at_is_not_found(folder):
    assert len(outcome(PLANS["dropped whole"], folder, "skip", False)) == 6
    assert len(outcome(PLANS["the whole image"], folder, "skip", False)) == 5


@pytest.mark.parametrize("operator", [ops.random_resized_crop, ops.random_crop, ops.center_crop])
def test_an_image_and_its_mask_are_decoded_where_they_are_cropped(tmp_path, operator):
    for i in range(4):
        Image.fromarray(picture(i, SIDE, SIDE)).save(tmp_path / f"{i}.jpg", quality=90)

    def crop(s, keep):
        image, mask = ops.decode_image(s.image), ops.decode_image(s.image)
        x, m = operator([image, mask], size=32)
        return {"x": x, "m": m, "whole": image, "whole mask": mask} if keep else {"x": x, "m": m}

    data = hr.read(str(tmp_path), format="images")
    in_part, whole = (data.map(lambda s, keep=keep: crop(s, keep)) for keep in (False, True))
    for epoch in range(3):
        for a, b in zip(in_part.at_epoch(epoch), whole.at_epoch(epoch), strict=True):
            assert (a["x"] == b["x"]).all() and (a["m"] == b["m"]).all()


def test_a_truncated_file_is_found_whatever_is_needed_of_it(tmp_path):
    whole = file_damaged_below(0.93)
    (tmp_path / "0.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(hr.CorruptSample, match="truncated JPEG"):
        list(PLANS["one map"](hr.read(str(tmp_path), format="images")).numpy())
