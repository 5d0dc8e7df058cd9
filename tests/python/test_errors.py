"""Broken inputs: what is raised names file, operator, reason and the user's line; skip and replace deliver the rest."""

import copy
import errno
import io
import os
import pickle
import re
import resource
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .pictures import picture

HERE = r"\(map at test_errors\.py:\d+\)"


def decoded(dataset):
    return dataset.map(
        lambda s: {"image": ops.resize(ops.decode_image(s.image), size=(8, 8)), "label": s.label}
    )


def break_file(name: str, path) -> None:
    whole = path.read_bytes()
    match name:
        case "truncated":
            path.write_bytes(whole[: len(whole) // 2])
        case "empty":
            path.write_bytes(b"")
        case "text":
            path.write_text("This is no image.\n" * 20)
        case "noise":
            path.write_bytes(whole[:100] + bytes(200))
        case "cut in the header":
            path.write_bytes(whole[:11])


BROKEN = ["truncated", "empty", "text", "noise", "cut in the header"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_raised_with_file_operator_reason_and_line(photos, name):
    break_file(name, photos / "cat" / "3.jpg")
    with pytest.raises(hr.CorruptSample) as caught:
        list(decoded(hr.read(photos)).batch(4))
    said = str(caught.value)
    assert said.startswith("decode_image: "), said
    assert f"sample 3 of {photos / 'cat' / '3.jpg'} (" in said, said
    assert re.search(HERE, said), said


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_skipped_or_replaced_and_counted(photos, name):
    for broken in ("cat/3.jpg", "dog/0.jpg"):
        break_file(name, photos / broken)
    ds = decoded(hr.read(photos).with_ids())
    ds = (
        hr.read(photos)
        .with_ids()
        .map(lambda s: {"image": ops.resize(ops.decode_image(s.image), size=(8, 8)), "id": s.id})
    )

    def run(policy, **options):
        loader = ds.on_error(policy).batch(3).options(**options).numpy()
        batches = list(loader)
        return (
            np.concatenate([b["id"] for b in batches]).tolist(),
            b"".join(b["image"].tobytes() for b in batches),
            loader.report(),
        )

    ids, pixels, report = run("skip", workers=2)
    assert ids == [0, 1, 2, 4, 5, 7, 8, 9, 10, 11] and report["skipped"] == 2
    assert run("skip", workers=1, ready=1)[:2] == (ids, pixels)
    ids, pixels, report = run("replace", workers=2)
    assert ids == [0, 1, 2, 4, 4, 5, 7, 7, 8, 9, 10, 11] and report["replaced"] == 2
    assert run("replace", workers=1, ready=1)[:2] == (ids, pixels)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (12, "; all 12 samples failed, the last: "),
        (1, "; and there is no other sample"),
    ],
)
def test_where_nothing_can_take_a_place_it_says_how_many_failed(photos, kept, said):
    for i, path in enumerate(sorted(photos.rglob("*.jpg"))):
        path.write_bytes(b"no image") if i < kept else path.unlink()
    with pytest.raises(hr.CorruptSample) as caught:
        list(decoded(hr.read(photos)).on_error("replace"))
    assert said in str(caught.value)
    assert "the next 100" not in str(caught.value)


def test_cmyk_and_16_bit_images_are_decoded_or_refused_by_name(photos):
    Image.fromarray(picture(1)).convert("CMYK").save(photos / "cat" / "1.jpg")
    Image.fromarray((np.arange(600, dtype=np.uint16) * 100).reshape(20, 30)).save(photos / "cat" / "2.png")
    ds = decoded(hr.read(photos))
    for s in ds.on_error("skip"):
        assert s["image"].shape == (8, 8, 3) and s["image"].dtype == np.uint8


def test_the_content_decides_and_not_the_extension(photos):
    Image.fromarray(picture(1)).save(photos / "cat" / "x.png")
    (photos / "cat" / "x.png").rename(photos / "cat" / "1.jpg")  # a PNG that says it is a JPEG
    assert len(list(decoded(hr.read(photos)))) == 12


def test_a_folder_named_like_an_image_is_no_sample(photos):
    (photos / "cat" / "x.jpg").mkdir()
    assert len(list(decoded(hr.read(photos)))) == 12


def test_a_file_that_is_gone_or_cannot_be_read(photos):
    ds = decoded(hr.read(photos))
    path = photos / "dog" / "5.jpg"
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"dog/5\.jpg"):
        list(ds)
    assert len(list(ds.on_error("skip"))) == 11
    path.symlink_to(path)  # a loop: nobody can open it, not even root
    with pytest.raises(OSError, match=r"dog/5\.jpg"):
        list(ds)
    assert len(list(ds.on_error("replace"))) == 12


@pytest.mark.skipif(os.getuid() == 0, reason="root reads every file")
def test_a_file_without_permission(photos):
    path = photos / "dog" / "5.jpg"
    path.chmod(0)
    with pytest.raises(OSError, match=r"dog/5\.jpg"):
        list(decoded(hr.read(photos)))


def test_an_image_beyond_the_limit_of_pixels(photos):
    ds = hr.read(photos).map(lambda s: ops.decode_image(s.image, max_pixels=10))
    with pytest.raises((ValueError, MemoryError), match=r"decode_image: .*10"):
        ds[0]


def test_what_exceeds_the_memory_budget_names_sample_size_budget_and_line(photos):
    file = photos / "cat" / "0.jpg"
    Image.fromarray(picture(1, 200, 200)).save(file, quality=90)
    size = file.stat().st_size
    ds, here = hr.read(photos), r"\((map|read|batch) at test_errors\.py:\d+\)$"
    exact = ds.map(lambda s: ops.resize(ops.decode_image(s.image, match="exact"), size=8))
    for needed, budget in ((size, size - 1), (200 * 200 * 3, size + 50_000)):
        words = rf"^sample: needs {needed} bytes, but the memory budget is {budget}; use a larger memory_budget: sample 0 of {file} {here}"
        with pytest.raises(MemoryError, match=words):
            list(exact.options(memory_budget=budget, workers=1, io=1))
    batch = rf"^batch of 12: needs {12 * (8 * 8 * 3 + 8)} bytes, but the memory budget is 2000; use a smaller batch or a larger .*{here}"
    with pytest.raises(MemoryError, match=batch):
        list(decoded(ds).batch(12).options(memory_budget=2000))
    rows = (
        ds.map(lambda s: ops.decode_image(s.image))
        .repeat(2)
        .batch(24, ragged=True)
        .options(memory_budget=size + 150_000, workers=1, io=1)
    )
    with pytest.raises(
        MemoryError,
        match=r"budget is \d+, of which \d+ are in use: .*ragged rows \d+; use a smaller batch or window",
    ) as caught:
        list(rows)
    assert re.search(here, str(caught.value))


@pytest.mark.parametrize("wrong", [None, object(), [b"x"]])
def test_data_of_no_type_that_there_is(wrong):
    with pytest.raises(TypeError, match="expected an array, a number, bytes or str, got an array of"):
        ops.decode_image(wrong)


def test_a_hundred_failures_in_a_row_are_raised():
    def never(x):
        raise ValueError("always")

    built = hr.range(300).map(lambda x: x if x >= 0 else never(x), python=True)
    failing = built.map(lambda x: x if x < 1 else never(x), python=True).on_error("replace")
    with pytest.raises(hr.HeadraceError, match="always") as caught:
        list(failing)
    assert "; the next 100 samples in order failed too, the last: " in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_wrong_parameters_name_operator_and_parameter():
    ds = hr.from_arrays(np.zeros((2, 8, 8, 3), np.uint8))
    with pytest.raises(ValueError, match="resize: "):
        ds.map(lambda x: ops.resize(x, size=-3))
    with pytest.raises(ValueError, match="interpolation must be"):
        ds.map(lambda x: ops.resize(x, size=3, interpolation="hamming"))
    with pytest.raises(ValueError, match="decode_image: "):
        ds.map(ops.decode_image)


def test_the_report_of_a_failed_run_does_not_say_that_nothing_ran(photos):
    break_file("text", photos / "cat" / "0.jpg")
    loader = decoded(hr.read(photos)).batch(4).numpy()
    assert "nothing has run" in str(loader.report())
    with pytest.raises(hr.CorruptSample):
        next(iter(loader))
    assert "has not delivered an element" in str(loader.report())


def encoded(seed: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture(seed, 64, 64)).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


END = b"\xff\xd9"


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2] + END,  # Pillow: grey from the middle on
        lambda whole: whole[:-200] + b"\xff\x00" * 50 + whole[-100:],  # Pillow: other pixels at the end
    ],
)
def test_decoding_is_stricter_than_pillow(damage):
    whole = damage(encoded(1))
    assert Image.open(io.BytesIO(whole)).convert("RGB").size == (64, 64)
    with pytest.raises(hr.CorruptSample, match=r"decode_image: (truncated|damaged) JPEG"):
        ops.decode_image(whole)


@pytest.mark.parametrize(
    "odd",
    [
        lambda whole: whole.removesuffix(END),
        lambda whole: whole + b"and then some",
        lambda whole: whole[:20] + b"between" + whole[20:],  # after the JFIF segment
    ],
)
def test_what_leaves_every_pixel_to_the_file_is_let_pass(odd):
    whole = encoded(2)
    assert np.array_equal(ops.decode_image(odd(whole)), ops.decode_image(whole))


def test_an_operator_over_a_ragged_batch_is_refused():
    dataset = hr.range(5).batch(2, ragged=True).map(lambda x: x + 1)
    with pytest.raises(
        ValueError,
        match=rf"expected an array, got a batch of 2 rows that is not one array .*map before batch.*{HERE}",
    ):
        list(dataset.numpy())


def refuse(*numbers: int):
    def given_back(x: int) -> int:
        if x in numbers:
            raise ValueError("no")
        return x

    return given_back


@pytest.mark.parametrize("rewrites", [True, False])
def test_rows_of_an_unbatch_are_left_out_alone(rewrites: bool) -> None:
    rows = hr.range(20).batch(3).unbatch()
    for stream, passes in (
        (rows, 1),
        (rows.repeat(2), 2),
        (rows.skip(0), 1),
        (hr.zip((rows, rows)).map(lambda s: s[0]), 1),
    ):
        left = stream.map(refuse(5, 7), python=True).on_error("skip").options(rewrites=rewrites)
        assert [int(x) for x in left] == [x for x in range(20) if x not in (5, 7)] * passes


def test_a_function_may_stand_after_a_stream_whose_first_samples_are_left_out() -> None:
    good = hr.range(20).map(refuse(0, 1, 9), python=True).on_error("skip")
    small = good.filter(lambda x: x < 12, python=True).map(lambda x: x + 1, python=True)
    assert [int(x) for x in small] == [3, 4, 5, 6, 7, 8, 9, 11, 12]


def _refuse(marks: tuple[int, ...]) -> Callable[[Any], Any]:
    def refuse(x: Any) -> Any:
        if any(int(value) % 17 in marks for value in np.asarray(x).reshape(-1)):
            raise ValueError("no")
        return x

    return refuse


COVERED: dict[str, Callable[[hr.Dataset, Callable[[Any], Any]], hr.Dataset]] = {
    "map": lambda ds, refuse: ds.map(refuse, python=True),
    "filter": lambda ds, refuse: ds.filter(lambda x: refuse(x) is not None, python=True),
    "batch": lambda ds, _: ds.batch(3),
    "unbatch": lambda ds, _: ds.unbatch(),
    "rebatch": lambda ds, _: ds.rebatch(2),
    "window": lambda ds, _: ds.window(4, shift=2),
    "group": lambda ds, _: ds.group_by_window(lambda x: ops.cast(x > 30, dtype="i64"), 3),
    "repeat": lambda ds, _: ds.repeat(2),
    "take": lambda ds, _: ds.take(9),
    "skip": lambda ds, _: ds.skip(1),
    "shuffle": lambda ds, _: ds.shuffle(seed=3, window=4),
    "double": lambda ds, _: ds.map(lambda x: x + x),
    "mix": lambda ds, _: hr.mix([ds, ds], weights=[0.5, 0.5], seed=1),
    "zip": lambda ds, _: ds.enumerate().map(lambda s: s[1]),
}


@pytest.mark.parametrize("seed", range(60))
def test_skip_at_the_end_is_skip_below_every_batch_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at_the_end = below_batches = hr.range(40)
    rank = 0
    for _ in range(rng.integers(2, 7)):
        gathering = {"batch", "window", "group"}
        wanted = [
            verb for verb in COVERED if verb not in ({"unbatch", "rebatch"} if rank == 0 else gathering)
        ]
        verb = str(rng.choice(wanted))
        rank += {"batch": 1, "window": 1, "group": 1, "unbatch": -1}.get(verb, 0)
        refuse = _refuse((int(rng.integers(1, 17)),))
        at_the_end = COVERED[verb](at_the_end, refuse)
        if verb in {*gathering, "rebatch"}:
            below_batches = below_batches.on_error("skip")
        below_batches = COVERED[verb](below_batches, refuse)
    wanted_rows = [x.tolist() for x in below_batches.on_error("skip")]
    for rewrites in (True, False):
        for workers in (1, 3):
            got = at_the_end.on_error("skip").options(rewrites=rewrites, workers=workers)
            assert [x.tolist() for x in got] == wanted_rows


def test_skip_above_what_counts_batches_says_so() -> None:
    data = hr.range(12).map(_refuse((5,)), python=True).batch(3)
    for above in (data.shuffle(seed=1), data.cache()):
        with pytest.raises(ValueError, match=r"on_error: \"skip\" drops samples from the batches below"):
            list(above.on_error("skip"))
    assert [x.tolist() for x in data.shuffle(seed=1).on_error("replace")] != []


def test_what_the_system_refuses_is_known_by_its_errno_and_file(photos, tmp_path):
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError) as caught:
        hr.read(nowhere)
    error = caught.value
    assert (error.errno, error.filename) == (errno.ENOENT, nowhere)
    assert str(error) == f"read: cannot access '{nowhere}': No such file or directory"
    with pytest.raises(FileNotFoundError) as caught:
        hr.read(str(tmp_path / "x-*.tar"))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "x-*.tar"))
    ds, gone = decoded(hr.read(photos)), photos / "dog" / "5.jpg"
    gone.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        list(ds.batch(4))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(gone))
    gone.symlink_to(gone)  # a loop: nobody can open it, not even root
    with pytest.raises(OSError, match=r"dog/5\.jpg") as caught:
        list(ds.batch(4))
    assert (caught.value.errno, caught.value.filename) == (errno.ELOOP, str(gone))
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Not a directory") as caught:
        hr.range(3).write(tmp_path / "file" / "out.tfrecord")
    assert caught.value.errno == errno.ENOTDIR


@pytest.mark.skipif(os.getuid() == 0, reason="root reads every file")
def test_what_may_not_be_read_is_a_permission_error(photos):
    path = photos / "dog" / "5.jpg"
    path.chmod(0)
    with pytest.raises(PermissionError) as caught:
        list(decoded(hr.read(photos)))
    assert (caught.value.errno, caught.value.filename) == (errno.EACCES, str(path))


def test_a_write_that_the_system_refuses_is_known_by_its_errno(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            hr.from_arrays({"x": np.zeros(100_000)}).write(tmp_path / "out.tfrecord")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG and caught.value.filename.startswith(str(tmp_path))


def test_an_error_of_the_system_can_be_pickled_and_says_the_same(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        hr.read(str(tmp_path / "nowhere"))
    for copied in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert isinstance(copied, FileNotFoundError) and str(copied) == str(caught.value)
        assert (copied.errno, copied.filename) == (caught.value.errno, caught.value.filename)
