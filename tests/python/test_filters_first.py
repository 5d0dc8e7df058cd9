"""What a filter drops is made no further than the filter looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

# Rows 0, 3, 6 … have a third number, which reshape refuses.
ROWS = [{"x": np.arange(3.0 - (i % 3 > 0)) + i, "n": i} for i in range(60)]
GOOD = [i for i in range(60) if i % 3 > 0]

REWRITES: list[Any] = [True, False]


def pair(s: Any) -> dict[str, Any]:
    return {"pair": ops.reshape(s.x, shape=(1, 2)), "n": s.n, "m": s.n * 2}


def thirds(s: Any) -> Any:
    return s.third


DATA = hr.from_list([row | {"third": row["n"] % 3 == 0} for row in ROWS])
KEPT: dict[str, Callable[[], hr.Dataset]] = {
    "a field that the map passes on": lambda: DATA.map(lambda s: pair(s) | {"third": s.third}).filter(
        lambda s: ~s.third
    ),
    "a step of the map": lambda: DATA.map(lambda s: pair(s) | {"third": ~s.third}).filter(thirds),
    "two maps": lambda: (
        DATA.map(lambda s: pair(s) | {"third": ~s.third})
        .map(lambda s: {"q": s.pair + 1, "n": s.n, "third": s.third})
        .filter(thirds)
    ),
    "names alone change": lambda: (
        DATA.map(lambda s: pair(s) | {"good": ~s.third})
        .map(lambda s: {"n": s.n, "third": s.good, "pair": s.pair})
        .filter(thirds)
    ),
    "behind take, skip and repeat": lambda: (
        DATA.map(lambda s: pair(s) | {"third": ~s.third}).repeat(2).skip(60).take(60).filter(thirds)
    ),
    "behind sort_by": lambda: (
        DATA.map(lambda s: pair(s) | {"third": ~s.third}).sort_by([r["n"] for r in ROWS]).filter(thirds)
    ),
    "two filters": lambda: (
        DATA.map(lambda s: pair(s) | {"third": ~s.third}).filter(lambda s: s.n >= 0).filter(thirds)
    ),
    "of a stream": lambda: (
        DATA.filter(lambda s: s.n >= 0).map(lambda s: pair(s) | {"third": ~s.third}).filter(thirds)
    ),
}


@pytest.mark.parametrize("rewrites", REWRITES)
@pytest.mark.parametrize("kind", KEPT)
def test_a_map_does_not_fail_for_what_is_dropped(kind: str, rewrites: bool) -> None:
    data = KEPT[kind]().options(rewrites=rewrites)
    assert [int(s["n"]) for s in data] == GOOD
    assert [int(n) for batch in data.batch(7) for n in batch["n"]] == GOOD
    assert len(list(data.shuffle(seed=1, window=5))) == len(GOOD)


@pytest.mark.parametrize("rewrites", REWRITES)
def test_it_fails_where_the_filter_looks(rewrites: bool) -> None:
    for data in (
        DATA.map(pair).filter(lambda s: ops.length(s.pair) > 0),
        DATA.map(pair).filter(lambda s: s.n % 3 > 0, python=True),  # a function is given the whole sample
        DATA.map(pair).cache().filter(lambda s: s.n < 0),  # to be kept, it is made
    ):
        with pytest.raises(ValueError, match="reshape: expected the number of elements"):
            list(data.options(rewrites=rewrites))


@pytest.mark.parametrize("rewrites", REWRITES)
def test_what_is_kept_draws_as_without_the_filter(rewrites: bool) -> None:
    images = np.random.default_rng(1).integers(0, 255, (40, 12, 12, 3)).astype("u1")
    data = (
        hr.from_arrays({"image": images, "label": np.arange(40)})
        .with_ids()
        .options(seed=3, rewrites=rewrites)
    )

    def crop(s: Any) -> dict[str, Any]:
        return {"image": ops.random_crop(s.image, size=(4, 4)), "late": s.label + 1, "id": s.id}

    made = data.shuffle(seed=2).map(crop)
    wanted = [s for s in made if s["late"] > 25]
    got = list(made.filter(lambda s: s.late > 25))
    assert len(got) == 15
    for a, b in zip(got, wanted, strict=True):
        assert a["id"] == b["id"]
        np.testing.assert_array_equal(a["image"], b["image"])


@pytest.mark.parametrize("rewrites", REWRITES)
def test_images_that_are_dropped_are_not_decoded(rewrites: bool) -> None:
    pictures = [ops_png(i) for i in range(30)]
    data = hr.from_list([{"image": picture, "label": i} for i, picture in enumerate(pictures)])
    data = data.map(lambda s: {"image": ops.decode_image(s.image), "label": s.label})
    loader = data.filter(lambda s: s.label >= 27).options(rewrites=rewrites).numpy()
    assert len(list(loader)) == 3
    calls = {one["name"]: one["calls"] for one in loader.report()["operators"]}
    assert calls["decode_image"] == 3


def both(s: Any) -> dict[str, Any]:
    image = ops.decode_image(s.image, match="fast")
    pixels = ops.length(ops.reshape(image, shape=(-1,)))
    return {"small": ops.resize(image, size=(9, 7)), "pixels": pixels, "n": s.n}


def crops(s: Any) -> dict[str, Any]:
    crop = ops.random_resized_crop(ops.decode_image(s.image), size=8)
    return {"small": crop, "pixels": ops.length(ops.reshape(crop, shape=(-1,))), "n": s.n}


@pytest.mark.parametrize("rewrites", REWRITES)
@pytest.mark.parametrize("make", [both, crops])
def test_pixels_are_those_without_the_filter(make: Callable[[Any], Any], rewrites: bool) -> None:
    rows = np.add.outer(np.arange(40) * 5, np.arange(50) * 3)
    waves = [np.stack([rows + 20 * i, rows // 2, 255 - rows], -1).astype("u1") for i in range(6)]
    images = hr.from_list([{"image": jpeg(wave), "n": i} for i, wave in enumerate(waves)])
    made = images.options(seed=1, rewrites=rewrites).map(make)
    wanted = list(made)
    for data in (
        made.filter(lambda s: s.pixels > 0),  # the filter looks at what is decoded
        made.filter(lambda s: s.n >= 0),  # and does not
        made.sort_by(np.arange(6)).filter(lambda s: s.pixels > 0),
        images.options(seed=1, rewrites=rewrites)
        .map(lambda s: {"image": ops.decode_image(s.image), "n": s.n, "pixels": s.n})
        .sort_by(np.arange(6))
        .map(lambda s: {"image": ops.resize(s.image, size=(9, 7)), "n": s.n})
        .filter(lambda s: s.n >= 0)
        .map(lambda s: {"small": s.image})
        if make is both
        else made,
    ):
        for got, one in zip(data, wanted, strict=True):
            np.testing.assert_array_equal(got["small"], one["small"])


def jpeg(image: np.ndarray[Any, Any]) -> bytes:
    return bytes(hr.from_arrays(image[None]).map(lambda x: ops.encode_image(x, format="jpeg"))[0])


def ops_png(i: int) -> bytes:
    image = hr.from_arrays(np.full((1, 4, 5, 3), i, "u1")).map(lambda x: ops.encode_image(x, format="png"))
    return bytes(image[0])
