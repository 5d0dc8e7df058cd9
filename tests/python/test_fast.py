"""decode_image(match="fast"): one result, however the chain of geometry is spread and whatever runs it."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .pictures import picture

Plan = Callable[[hr.Dataset], hr.Dataset]
CHAIN = 'one step: a plain JPEG is decoded only where needed and resampled plane by plane, any other file as with match="exact"'
FUSION = "fuse_decode_crop_resize_flip_normalize"
SIZES = [(60, 80), (75, 41), (33, 33), (90, 64)]


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Every kind of file, and of each a few."""
    out = tmp_path_factory.mktemp("kinds")
    for i, (height, width) in enumerate(SIZES):
        image = Image.fromarray(picture(i, height, width))
        files = {
            "420.jpg": encoded(image, "JPEG", quality=90),
            "444.jpg": encoded(image, "JPEG", quality=80, subsampling=0),
            "gray.jpg": encoded(image.convert("L"), "JPEG"),
            "progressive.jpg": encoded(image, "JPEG", progressive=True),
            "cmyk.jpg": encoded(image.convert("CMYK"), "JPEG"),
            "turned.jpg": encoded(image, "JPEG", exif=turned(2 + i * 2)),
            "rgb.png": encoded(image, "PNG"),
            "rgba.png": encoded(image.convert("RGBA"), "PNG"),
        }
        for name, data in files.items():
            (out / f"{i}_{name}").write_bytes(data)
    return str(out)


def delivered(plan: Plan, folder: str, **options: Any) -> list[Any]:
    data = plan(hr.read(folder, format="images")).options(**{"seed": 3, "workers": 2, **options})
    return [
        {name: (leaf.dtype.str, leaf.shape, leaf.tobytes()) for name, leaf in element.items()}
        for element in data.numpy().at_its_first_epoch()
    ]


def fast(image: Any, **options: Any) -> Any:
    return ops.decode_image(image, match="fast", **options)


def normal(image: Any, **options: Any) -> Any:
    return ops.normalize(image, mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, **options)


def train(image: Any) -> Any:
    return ops.random_flip(ops.random_resized_crop(fast(image), size=24))


def train_small(image: Any) -> Any:
    return ops.random_flip(ops.random_resized_crop(fast(image, scale_in_dct=True), size=4, scale=(0.3, 1)))


# The same job, its chain spread over maps and index verbs in every way; ids make the samples comparable.
SPREAD: dict[str, Plan] = {
    "one map": lambda d: d.map(lambda s: {"x": normal(train(s.image), layout="CHW"), "id": s.id}),
    "three maps": lambda d: (
        d.map(lambda s: {"i": fast(s.image), "id": s.id})
        .map(lambda s: {"i": ops.random_resized_crop(s.i, size=24), "id": s.id})
        .map(lambda s: {"x": normal(ops.random_flip(s.i), layout="CHW"), "id": s.id})
    ),
    "maps between that look away": lambda d: (
        d.map(lambda s: {"i": fast(s.image), "id": s.id})
        .map(lambda s: {**s, "y": s.id})
        .map(lambda s: {"i": ops.random_resized_crop(s.i, size=24), "id": s.y})
        .map(lambda s: s)
        .map(lambda s: {"x": normal(ops.random_flip(s.i), layout="CHW"), "id": s.id})
    ),
    "verbs between": lambda d: (
        d.map(lambda s: {"i": fast(s.image), "id": s.id})
        .shuffle(seed=8)
        .map(lambda s: {"i": ops.random_resized_crop(s.i, size=24), "id": s.id})
        .take(30)
        .repeat(1)
        .map(lambda s: {"x": ops.random_flip(s.i), "id": s.id})
        .shard(0, 1)
        .map(lambda s: {"x": normal(s.x, layout="CHW"), "id": s.id})
    ),
    "behind a border": lambda d: (
        d.shuffle(seed=8, window=5)
        .map(lambda s: {"i": fast(s.image), "id": s.id})
        .map(lambda s: {"i": ops.random_resized_crop(s.i, size=24), "id": s.id})
        .map(lambda s: {"x": normal(ops.random_flip(s.i), layout="CHW"), "id": s.id})
    ),
}
REWRITES: list[Any] = [
    True,
    False,
    {FUSION: False},
    {"fuse_maps": False},
    {"sink_order_verbs": False},
    {"write_into_slot": False},
]


def by_id(elements: list[Any]) -> dict[bytes, Any]:
    return {element["id"][2]: element["x"] for element in elements}


@pytest.mark.parametrize("plan", SPREAD.values(), ids=SPREAD)
def test_a_chain_is_the_same_however_it_is_spread(plan: Plan, folder: str) -> None:
    def spread(data: hr.Dataset) -> hr.Dataset:
        return plan(data.with_ids())

    want = by_id(delivered(lambda d: SPREAD["one map"](d.with_ids()), folder, rewrites=False))
    assert len(want) == 8 * len(SIZES)
    assert CHAIN in spread(hr.read(folder, format="images")).explain()
    for rewrites in REWRITES:
        got = by_id(delivered(spread, folder, rewrites=rewrites))
        assert got.items() <= want.items() and len(got) >= 30, rewrites


def job(f: Callable[[Any], Any]) -> Plan:
    return lambda d: d.map(lambda s: f(s.image))


def several_crops(image: Any) -> Any:
    pixels = fast(image)
    large = normal(ops.random_resized_crop(pixels, size=32))
    small = [ops.random_flip(ops.random_resized_crop(pixels, size=16)) for _ in range(3)]
    return {"large": large, "a": small[0], "b": normal(small[1], dtype="f16"), "c": small[2]}


def crop_by_the_pixels_of_another(image: Any) -> Any:
    pixels = fast(image)
    first = ops.resize(pixels, size=(1, 1))
    mean = ops.normalize(ops.center_crop(ops.resize(pixels, size=(2, 2)), size=1), dtype="f32")
    return {"first": first, "x": ops.random_flip(ops.resize(pixels, size=(9, 8))), "mean": mean}


def evaluation(image: Any) -> Any:
    return {"x": normal(ops.center_crop(ops.resize(fast(image), size=40), size=32), layout="CHW")}


def with_masks(image: Any, mask: Any) -> Any:
    """Every operator that takes an image and its masks, before, at and after the resampling."""
    image, mask, view = ops.random_flip([image, mask, mask], p=0.7)
    image, mask, view = ops.random_crop([image, mask, view], size=30)
    image, mask, view = ops.random_resized_crop([image, mask, view], size=28, mask_interpolation="bilinear")
    image, mask = ops.center_crop(ops.random_flip([image, mask]), size=20)
    return {"x": normal(image, layout="CHW"), "m": mask, "v": view}


JOBS: dict[str, Plan] = {
    "train": job(lambda i: {"x": normal(train(i), layout="CHW")}),
    "train, pixels": job(lambda i: {"x": train(i)}),
    "evaluation": job(evaluation),
    "several crops": job(several_crops),
    "one crop depends on another": job(crop_by_the_pixels_of_another),
    "the whole image too": job(lambda i: {"whole": ops.resize(fast(i), size=(20, 20)), "x": train(i)}),
    "gray": job(lambda i: {"x": normal_gray(ops.resize(fast(i, color="gray"), size=(20, 30)))}),
    "unchanged": job(lambda i: {"x": ops.normalize(ops.resize(fast(i, color="unchanged"), size=(20, 30)))}),
    "upright": job(lambda i: {"x": ops.resize(fast(i, exif_orientation=True), size=30)}),
    "flip, crop, resize, crop, flip": job(
        lambda i: {
            "x": ops.random_flip(
                ops.random_crop(
                    ops.resize(ops.random_crop(ops.random_flip(fast(i)), size=30), size=(25, 40)), size=20
                )
            )
        }
    ),
    "an image and its masks": job(lambda i: with_masks(fast(i), exact(i))),
    "masks by themselves": job(
        lambda i: {
            "m": ops.random_flip(ops.random_resized_crop([fast(i), exact(i)], size=20))[1],
            "x": train(i),
        }
    ),
    "random sizes": job(
        lambda i: {
            "x": normal(ops.center_crop(ops.random_resize(fast(i), shorter=(30, 50)), size=30), dtype="bf16")
        }
    ),
    "scaled in the DCT": job(lambda i: {"x": normal(train_small(i), layout="CHW")}),
    "bicubic, no antialias": job(
        lambda i: {"x": ops.random_resized_crop(fast(i), size=20, interpolation="bicubic", antialias=False)}
    ),
    "u8 back": job(
        lambda i: {"x": ops.normalize(train(i), mean=3, std=2, scale=1, dtype="u8", layout="CHW")}
    ),
}


def normal_gray(image: Any) -> Any:
    return ops.normalize(image, mean=0.4, std=0.2, layout="CHW")


@pytest.mark.parametrize("plan", JOBS.values(), ids=JOBS)
def test_rewrites_workers_slots_and_budget_change_nothing(plan: Plan, folder: str) -> None:
    assert CHAIN in plan(hr.read(folder, format="images")).explain()
    want = delivered(plan, folder, rewrites=False, workers=1)
    for rewrites in REWRITES:
        assert delivered(plan, folder, rewrites=rewrites) == want, rewrites
    assert delivered(plan, folder, workers=4, ready=1) == want
    assert delivered(plan, folder, workers=3, ready=5, memory_budget=20_000_000) == want


@pytest.mark.parametrize("plan", JOBS.values(), ids=JOBS)
def test_shapes_and_types_are_those_of_exact(
    plan: Plan, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = hr.read(folder, format="images")
    got, schema = delivered(plan, folder), plan(data).schema
    monkeypatch.setitem(globals(), "fast", exact)
    want = delivered(plan, folder)
    assert str(schema) == str(plan(data).schema)
    for one, other in zip(got, want, strict=True):
        assert {k: leaf[:2] for k, leaf in one.items()} == {k: leaf[:2] for k, leaf in other.items()}


def exact(image: Any, scale_in_dct: bool = False, **options: Any) -> Any:
    return ops.decode_image(image, match="exact", **options)


ENDS: dict[str, tuple[bool, Plan]] = {
    "no resampling": (False, job(lambda i: {"x": ops.random_flip(ops.random_crop(fast(i), size=20))})),
    "nearest": (False, job(lambda i: {"x": ops.resize(fast(i), size=(20, 20), interpolation="nearest")})),
    "a number before": (
        False,
        job(lambda i: {"x": ops.resize(ops.normalize(fast(i)), size=(20, 20))}),
    ),
    "on_error": (
        False,
        lambda d: (
            d.map(lambda s: {"i": fast(s.image)})
            .on_error("replace")
            .map(lambda s: {"x": ops.resize(s.i, size=(20, 20))})
        ),
    ),
    "exact": (False, job(lambda i: {"x": ops.resize(exact(i), size=(20, 20))})),
    "two at once, nearest": (
        False,
        job(lambda i: {"x": ops.resize([fast(i)] * 2, size=(20, 20), interpolation="nearest")[1]}),
    ),
    "two resamplings": (
        True,
        job(lambda i: {"x": ops.resize(ops.resize(fast(i), size=(30, 30)), size=(20, 20))}),
    ),
}


@pytest.mark.parametrize(("chain", "plan"), ENDS.values(), ids=ENDS)
def test_where_a_chain_ends(chain: bool, plan: Plan, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = hr.read(folder, format="images")
    assert (CHAIN in plan(data).explain()) == chain
    got = delivered(plan, folder)
    assert delivered(plan, folder, rewrites=False) == got
    if chain:
        assert "decode_image + resize:" in plan(data).explain()
        return
    monkeypatch.setitem(globals(), "fast", exact)
    assert delivered(plan, folder) == got


def test_the_scale_of_a_picture_does_not_depend_on_others(folder: str) -> None:
    def both(s: Any) -> Any:
        image = fast(s.image, scale_in_dct=True)
        return {"small": ops.resize(image, size=(6, 5)), "large": ops.resize(image, size=(40, 40))}

    def one(s: Any) -> Any:
        return {"small": ops.resize(fast(s.image, scale_in_dct=True), size=(6, 5))}

    data = hr.read(folder, format="images")
    for beside, alone in zip(data.map(both).numpy(), data.map(one).numpy(), strict=True):
        assert beside["small"].tobytes() == alone["small"].tobytes()


def test_a_picture_does_not_depend_on_one_that_is_made_the_other_way(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(encoded(Image.fromarray(picture(1, 1200, 1600)), "JPEG", quality=90))

    def crop(image: Any) -> Any:
        return ops.resize(ops.center_crop(image, size=600), size=224)

    def with_mean(sample: Any) -> Any:  # shrunk by more than planes are
        image = ops.decode_image(sample.image)
        return {"crop": crop(image), "mean": ops.resize(image, size=(1, 1))}

    def exact_mean(sample: Any) -> Any:
        return {"mean": ops.resize(ops.decode_image(sample.image, match="exact"), size=(1, 1))}

    data = hr.read(str(tmp_path))
    alone = data.map(lambda sample: {"crop": crop(ops.decode_image(sample.image))})[0]
    both = data.map(with_mean)[0]
    np.testing.assert_array_equal(both["crop"], alone["crop"])
    np.testing.assert_array_equal(both["mean"], data.map(exact_mean)[0]["mean"])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WebP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_that_are_turned_have_the_pixels_of_exact(orientation: int, kind: str, tmp_path: Path) -> None:
    # Both higher and wider than the other way round, so that a box of the upright image fits no stored one.
    for name, size in {"high": (300, 80), "wide": (80, 300)}.items():
        file = encoded(Image.fromarray(picture(1, *size)), kind, exif=turned(orientation))
        (tmp_path / f"{name}.{kind.lower()}").write_bytes(file)

    def cut(match: str) -> Callable[[Any], Any]:
        def shapes(sample: Any) -> Any:
            image = ops.decode_image(sample.image, match=match, exif_orientation=True)
            whole = ops.resize(image, size=64)
            return {
                "center": ops.center_crop(whole, size=48),
                "crop": ops.random_resized_crop(image, size=32),
            }

        return shapes

    data = hr.read(str(tmp_path)).options(seed=3)
    for fast, exact in zip(data.map(cut("fast")).numpy(), data.map(cut("exact")).numpy(), strict=True):
        for name in ("center", "crop"):
            if orientation > 1 or kind != "JPEG":  # that one is resampled plane by plane
                np.testing.assert_array_equal(fast[name], exact[name])


@pytest.mark.parametrize("seed", range(4))
def test_a_picture_does_not_depend_on_coefficients_that_another_needs(seed: int, tmp_path: Path) -> None:
    # Quantisers of 25 times the size: in the noisy half coefficients become larger than any encoder makes them.
    pixels = np.full((400, 800, 3), 128, np.uint8)
    draw = np.random.default_rng(seed)
    pixels[:, :400] += draw.integers(0, 12, (50, 50, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    pixels[:, 450:] = draw.integers(0, 2, (400, 350, 1), dtype=np.uint8) * 255
    file = bytearray(encoded(Image.fromarray(pixels), "JPEG", quality=95))
    at = file.find(b"\xff\xdb")
    while 0 <= at < 600:
        file[at + 6 : at + 69] = bytes(min(255, 25 * step) for step in file[at + 6 : at + 69])
        at = file.find(b"\xff\xdb", at + 4)
    (tmp_path / "a.jpg").write_bytes(file)

    def cut(image: Any) -> Any:
        return ops.random_resized_crop(image, size=96, scale=(0.08, 0.2))

    def both(sample: Any) -> Any:
        image = ops.decode_image(sample.image)
        return {"crop": cut(image), "whole": ops.resize(image, size=100)}

    data = hr.read(str(tmp_path)).options(seed=seed)
    alone = data.map(lambda sample: {"crop": cut(ops.decode_image(sample.image))})[0]
    np.testing.assert_array_equal(data.map(both)[0]["crop"], alone["crop"])


def test_scaling_in_the_dct_is_chosen_and_part_of_the_plan(folder: str) -> None:
    def job(**options: Any) -> hr.Dataset:
        data = hr.read(folder, format="images")
        return data.map(lambda s: {"x": ops.resize(fast(s.image, **options), size=(6, 5)), "i": s.image})

    scaled, whole = job(scale_in_dct=True), job()
    assert '"scale_in_dct": true' in scaled.plan() and '"scale_in_dct": false' in whole.plan()
    apart = []
    for one, other in zip(scaled.numpy(), whole.numpy(), strict=True):
        is_jpeg = one["i"].startswith(b"\xff\xd8")
        apart.append(np.abs(one["x"].astype(float) - other["x"]).max() if is_jpeg else 0)
        assert is_jpeg or one["x"].tobytes() == other["x"].tobytes()
    assert sum(map(bool, apart)) > len(SIZES) and max(apart) < 30, apart
    with pytest.raises(ValueError, match=r'decode_image: scale_in_dct needs match="fast", got match="exact"'):
        ops.decode_image(b"", match="exact", scale_in_dct=True)


SIDE = 120
SEGMENTATIONS: dict[str, Callable[..., Any]] = {
    "random_resized_crop": lambda both: ops.random_resized_crop(both, size=40),
    "bilinear masks": lambda both: ops.random_resized_crop(both, size=40, mask_interpolation="bilinear"),
    "resize": lambda both: ops.resize(both, size=(40, 60)),
    "random_resize": lambda both: ops.center_crop(ops.random_resize(both, shorter=(40, 60)), size=40),
    "random_crop": lambda both: ops.resize(ops.random_crop(both, size=50), size=40),
    "center_crop": lambda both: ops.resize(ops.center_crop(both, size=50), size=40),
    "flip first": lambda both: ops.random_resized_crop(ops.random_flip(both), size=40),
}


@pytest.fixture(scope="module")
def pairs() -> hr.Dataset:
    """Pictures that rise from corner to corner, each its own way, and masks that are the same in grey."""
    images, masks = [], []
    for i in range(12):
        down, right = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
        grey = (20 + i + down * 0.6 + right * 1.1).astype(np.uint8)
        images.append(encoded(Image.fromarray(grey).convert("RGB"), "JPEG", quality=95))
        masks.append(encoded(Image.fromarray(grey), "PNG"))
    return hr.from_arrays({"image": images, "mask": masks})


@pytest.mark.parametrize("cut", SEGMENTATIONS.values(), ids=SEGMENTATIONS)
def test_a_mask_is_cut_where_its_image_is(cut: Any, pairs: hr.Dataset) -> None:
    def job(decode: Any) -> hr.Dataset:
        def both(s: Any) -> Any:
            image, mask = ops.random_flip(cut([decode(s.image), fast(s.mask, color="gray")]))
            return {"x": ops.normalize(image, mean=0, std=1, scale=1), "m": mask}

        return pairs.map(both).repeat(3).options(seed=5)

    assert CHAIN in job(fast).explain() and CHAIN not in job(exact).explain()
    cuts = set()
    for one, other in zip(job(fast).numpy(), job(exact).numpy(), strict=True):
        assert one["m"].tobytes() == other["m"].tobytes()
        assert np.abs(one["x"] - one["m"]).max() <= 4  # one pixel aside is 0.6 or more, a flip some 40
        assert np.abs(one["x"] - one["m"].astype(np.float64)).mean() < 1
        cuts.add(one["m"].tobytes())
    assert len(cuts) > 12


def test_an_image_and_a_mask_of_another_size_are_refused_by_the_operator_that_gets_them(
    pairs: hr.Dataset,
) -> None:
    def both(s: Any, decode: Any) -> Any:
        image, mask = ops.random_resized_crop([decode(s.image), ops.resize(fast(s.mask), size=60)], size=40)
        return {"x": image, "m": mask}

    for decode in (fast, exact):
        for rewrites in (True, False):
            data = pairs.map(lambda s, decode=decode: both(s, decode)).options(rewrites=rewrites)
            want = r"random_resized_crop: expected inputs of one height and width, got \(120, 120"
            with pytest.raises(ValueError, match=want):
                list(data.numpy())


def test_explain_says_which_verb_cuts_a_chain(folder: str) -> None:
    said = "is in between, so the whole image is decoded exactly, which is slower"

    def text(border: Plan, second: Callable[[Any], Any]) -> str:
        data = border(hr.read(folder, format="images").map(lambda s: {"i": fast(s.image)}))
        return data.map(lambda s: {"x": second(s.i)}).explain()

    def flip_and_resize(image: Any) -> Any:
        return ops.resize(ops.random_flip(image), size=20)

    chain = "decode_image + random_flip + resize"
    assert f"{chain}: on_error {said}" in text(lambda d: d.on_error("skip").take(30), flip_and_resize)
    assert f"{chain}: shuffle {said}" in text(lambda d: d.shuffle(seed=1, window=4), flip_and_resize)
    assert said not in text(lambda d: d.shuffle(seed=1), flip_and_resize)
    assert said not in text(lambda d: d.on_error("skip"), ops.random_flip)


def test_explain_shows_the_chain_and_what_becomes_of_it(folder: str) -> None:
    text = JOBS["train"](hr.read(folder, format="images")).explain()
    assert f"decode_image + random_resized_crop + random_flip: {CHAIN}" in text
    assert f"after {FUSION} (1x):" in text
    assert "normalize=" in text.split(f"after {FUSION}")[1]
    assert FUSION not in JOBS["train, pixels"](hr.read(folder, format="images")).explain()


def test_a_report_counts_the_operators_of_the_user(folder: str) -> None:
    loader = JOBS["train, pixels"](hr.read(folder, format="images")).numpy()
    assert len(list(loader)) == 8 * len(SIZES)
    calls = {row["name"]: row["calls"] for row in loader.report()["operators"]}
    assert calls == dict.fromkeys(["decode_image", "random_resized_crop", "random_flip"], 8 * len(SIZES))


@pytest.mark.parametrize("decode", ["fast", "exact"])
def test_a_report_says_which_decoders_took_the_images(folder: str, decode: str) -> None:
    data = hr.read(folder, format="images").map(
        lambda s: {"x": ops.resize(ops.decode_image(s.image, match=decode), size=(20, 20)), "i": s.image}
    )
    loader = data.options(workers=2).numpy()
    assert len(list(loader)) == 8 * len(SIZES)
    report = loader.report()
    (row,) = [row for row in report["operators"] if row["name"] == "decode_image"]
    kinds = {
        "headrace (baseline JPEG)": 4,
        "libjpeg-turbo": 2,
        "headrace (plain PNG)": 2,
    }  # turned ones are plain as stored
    assert row["decoders"] == {name: count * len(SIZES) for name, count in kinds.items()}
    assert all("decoders" not in other for other in report["operators"] if other["name"] != "decode_image")
    lines = [line.split() for line in str(report).splitlines()]
    assert ["headrace", "(baseline", "JPEG)", str(4 * len(SIZES))] in lines
    assert json.loads(json.dumps(report.dict()))["operators"][0]["decoders"] == row["decoders"]


def test_a_report_counts_an_image_and_its_mask_once(folder: str) -> None:
    loader = JOBS["an image and its masks"](hr.read(folder, format="images")).numpy()
    samples = len(list(loader))
    calls = {row["name"]: row["calls"] for row in loader.report()["operators"]}
    assert calls == {
        "decode_image": samples,
        "random_flip": samples,
        "random_crop": samples,
        "random_resized_crop": samples,
        "center_crop": samples,
        "normalize": samples,
    }


def test_a_report_says_where_an_operator_ran_that_became_part_of_another(folder: str) -> None:
    data = JOBS["train"](hr.read(folder, format="images"))
    for rewrites in (True, False):
        loader = data.options(rewrites=rewrites).numpy()
        assert len(list(loader)) == 8 * len(SIZES)
        (row,) = [row for row in loader.report()["operators"] if row["name"] == "normalize"]
        assert row["calls"] == 8 * len(SIZES)
        assert row.get("within") == ("decode_image" if rewrites else None)
        assert ("normalize (in decode_image)" in str(loader.report())) == rewrites


def broken(folder: Path) -> None:
    whole = encoded(Image.fromarray(picture(1, 64, 64)), "JPEG", quality=90)
    (folder / "0.jpg").write_bytes(whole)
    (folder / "1.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "2.jpg").write_bytes(whole)
    (folder / "3.jpg").write_bytes(whole[:200] + b"\xff\x00" * 40 + whole[280:])
    (folder / "4.jpg").write_bytes(b"no image")
    (folder / "5.png").write_bytes(encoded(Image.fromarray(picture(2, 64, 64)), "PNG")[:-30])
    (folder / "6.jpg").write_bytes(whole)


@pytest.mark.parametrize("only", [1, 3, 4, 5])
def test_broken_files_raise_what_exact_raises(only: int, tmp_path: Path) -> None:
    broken(tmp_path)
    for file in tmp_path.iterdir():
        if file.name[0] != str(only):
            file.unlink()
    said = set()
    for decode in (fast, exact):
        for rewrites in (True, False):
            data = hr.read(str(tmp_path), format="images").map(
                lambda s, decode=decode: {"x": normal(ops.random_resized_crop(decode(s.image), size=24))}
            )
            with pytest.raises(hr.CorruptSample, match=r"^decode_image: ") as caught:
                list(data.options(rewrites=rewrites).numpy())
            said.add(str(caught.value).split(" (map at")[0])
    assert len(said) == 1


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_the_same_broken_files_are_skipped_and_replaced(policy: str, tmp_path: Path) -> None:
    broken(tmp_path)

    def ids(decode: Any, **options: Any) -> list[int]:
        data = hr.read(str(tmp_path), format="images").with_ids()
        data = data.map(
            lambda s: {"x": normal(ops.random_resized_crop(decode(s.image), size=24)), "id": s.id}
        )
        return [int(e["id"]) for e in data.on_error(policy).options(**options).numpy()]

    want = ids(exact)
    assert len(want) == (3 if policy == "skip" else 7)
    assert ids(fast) == ids(fast, rewrites=False) == want


def test_too_many_pixels_and_too_small_images_are_refused(folder: str) -> None:
    data = hr.read(folder, format="images")
    with pytest.raises((ValueError, MemoryError), match=r"decode_image: expected at most 10 pixels"):
        list(data.map(lambda s: {"x": ops.resize(fast(s.image, max_pixels=10), size=(8, 8))}).numpy())
    with pytest.raises(ValueError, match=r"center_crop: expected an image of at least \(50, 50\)"):
        list(data.map(lambda s: {"x": ops.center_crop(ops.resize(fast(s.image), size=40), size=50)}).numpy())


PHOTOGRAPHS = Path(os.environ.get("HEADRACE_DATA") or "/nowhere") / "imagenet1k"
CROPS = 10 if os.environ.get("HEADRACE_NIGHTLY") else 2


@pytest.mark.skipif(not PHOTOGRAPHS.is_dir(), reason="HEADRACE_DATA has no imagenet1k")
def test_fast_is_close_to_exact_on_photographs() -> None:
    def crops(decode: Any) -> hr.Dataset:
        data = hr.read(str(PHOTOGRAPHS), format="images")
        data = data.map(lambda s: {"x": ops.random_resized_crop(decode(s.image), size=224)})
        return data.repeat(CROPS).options(seed=11)

    differences, ratios = [], []
    for one, other in zip(crops(fast).numpy(), crops(exact).numpy(), strict=True):
        apart = one["x"].astype(np.float64) - other["x"]
        differences.append(np.abs(apart).mean())
        ratios.append(10 * np.log10(255**2 / max(np.square(apart).mean(), 1e-5)))  # identical: 98 dB
    assert len(differences) > 200 * CROPS
    worst, usual = max(differences), float(np.percentile(differences, 95))
    said = f"mean difference {usual:.3f} at the 95th percentile, {worst:.3f} at worst; "
    said += f"PSNR {min(ratios):.1f} dB at worst, {np.mean(ratios):.1f} on average"
    print(said)
    assert usual <= 0.5 and worst <= 1.0 and min(ratios) >= 40 and np.mean(ratios) >= 55, said
