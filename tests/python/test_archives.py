"""Archives as folders: zips and squashfs images beside the same folder unpacked, hostile ones, and their names."""

import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace import ops

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
ZIPS = sorted(DATA.glob("**/*.zip"))
MKSQUASHFS = shutil.which("mksquashfs")
CLI = next(Path(__file__).parents[2].glob("build/release/cli/headrace"), None)
needs_mksquashfs = pytest.mark.skipif(MKSQUASHFS is None, reason="wants mksquashfs of squashfs-tools")


def zipped(folder, path, compression=zipfile.ZIP_STORED, below=""):
    with zipfile.ZipFile(path, "w", compression) as out:
        for file in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            out.write(file, f"{below}{file.relative_to(folder)}")
    return path


def squashed(folder, path, *options):
    command = [MKSQUASHFS, str(folder), str(path), "-noappend", "-no-progress", "-quiet", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def samples(path, **options):
    ds = hr.read(str(path), **options)
    return [
        {name: bytes(v) if isinstance(v, (bytes, memoryview)) else v for name, v in s.items()} for s in ds
    ]


def listed(pattern):
    try:
        return [str(path) for path in hr.list_files(str(pattern))]
    except FileNotFoundError:
        return []


def packings():
    yield pytest.param(zipped, id="zip")
    yield pytest.param(lambda f, p: zipped(f, p, zipfile.ZIP_DEFLATED), id="zip-deflated")
    yield pytest.param(lambda f, p: zipped(f, p, zipfile.ZIP_DEFLATED, "photos/"), id="zip-below")
    for name in ("gzip", "lz4", "zstd"):
        yield pytest.param(
            lambda f, p, name=name: squashed(f, p, "-comp", name),
            id=f"squashfs-{name}",
            marks=needs_mksquashfs,
        )
    for options in (
        ["-no-fragments"],
        ["-noI", "-noD", "-noF"],
        ["-b", "4096"],
        ["-always-use-fragments"],
        ["-no-exports"],
    ):
        yield pytest.param(
            lambda f, p, options=options: squashed(f, p, *options),
            id="squashfs" + options[0] + str(len(options)),
            marks=needs_mksquashfs,
        )


@pytest.fixture(params=packings())
def pack(request):
    return request.param


def test_an_archive_gives_what_its_folder_gives(photos, tmp_path, pack):
    archive = pack(photos, tmp_path / "photos.packed")
    there, here = hr.read(str(photos)), hr.read(str(archive))
    assert samples(archive) == samples(photos) and len(here) == 12
    assert here.metadata["classes"] == there.metadata["classes"] == ["cat", "dog"]
    assert samples(archive, format="images") == samples(photos, format="images")
    shuffled = [[s["label"] for s in d.shuffle(seed=3)] for d in (there, here)]
    assert shuffled[0] == shuffled[1]
    decoded = here.map(lambda s: {"image": ops.resize(ops.decode_image(s.image), size=(8, 8))}).batch(12)
    expected = there.map(lambda s: {"image": ops.resize(ops.decode_image(s.image), size=(8, 8))}).batch(12)
    assert (next(iter(decoded))["image"] == next(iter(expected))["image"]).all()


def test_a_state_of_the_folder_goes_on_in_the_archive(photos, tmp_path, pack):
    archive = pack(photos, tmp_path / "photos.packed")

    def labels(path):
        return hr.read(str(path)).shuffle(seed=1).map(lambda s: {"label": s.label}).batch(2).numpy()

    begun = iter(labels(photos))
    first = [next(begun)["label"].tolist() for _ in range(2)]
    resumed = labels(archive)
    resumed.load_state_dict(json.loads(json.dumps(begun.state_dict())))
    assert first + [b["label"].tolist() for b in resumed] == [b["label"].tolist() for b in labels(photos)]


def test_paths_lead_through_archives(photos, tmp_path, pack):
    archive = pack(photos, tmp_path / "photos.packed")
    root = f"{archive}/photos" if listed(f"{archive}/photos/*/*") else str(archive)
    assert len(hr.read(f"{root}/cat/", format="images")) == 6
    assert [Path(p).name for p in listed(f"{root}/*/3.jpg")] == ["3.jpg", "3.jpg"]
    assert listed(f"{tmp_path}/*.packed/**/1.jpg") == listed(f"{archive}/**/1.jpg")
    assert len(listed(f"{archive}/**/1.jpg")) == 2
    (tmp_path / "labels.json").write_text(json.dumps({"cat/0.jpg": 4, "dog/../cat/1.jpg": 5}))
    mapped = hr.read_json_map(str(tmp_path / "labels.json"), root=root)
    assert [s["label"] for s in mapped] == [4, 5]
    assert bytes(mapped[1]["image"]) == (photos / "cat" / "1.jpg").read_bytes()
    with pytest.raises(FileNotFoundError, match="cow"):
        hr.read(f"{root}/cow")
    with pytest.raises(Exception, match=r"none\.jpg"):
        hr.read(f"{root}/cat/none.jpg")


def write_tars(folder):
    folder.mkdir()
    for shard in range(3):
        with tarfile.open(folder / f"shard-{shard:03}.tar", "w") as tar:
            for i in range(20):
                for suffix, data in {"cls": str(i).encode(), "bin": bytes([i]) * 3000}.items():
                    info = tarfile.TarInfo(f"{shard}{i:04}.{suffix}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    return folder


def test_shards_inside(tmp_path, pack):
    folder = write_tars(tmp_path / "tars")
    archive = pack(folder, tmp_path / "tars.packed")
    assert samples(archive) == samples(folder) and len(samples(folder)) == 60
    root = f"{archive}/photos" if listed(f"{archive}/photos/*") else str(archive)
    assert samples(f"{root}/shard-{{000..002}}.tar") == samples(folder)
    shuffled = hr.read(str(archive)).shuffle(seed=2).map(lambda s: {"cls": s.cls})
    expected = hr.read(str(folder)).shuffle(seed=2).map(lambda s: {"cls": s.cls})
    assert [s["cls"] for s in shuffled] == [s["cls"] for s in expected]


@pytest.mark.parametrize("below", ["", "set/", "a/set/"])
def test_folders_of_shards_with_an_index(tmp_path, photos, below):
    hr.read(str(photos)).write(str(tmp_path / "out.mds"), shard_size="4KB")
    archive = zipped(tmp_path / "out.mds", tmp_path / "out.zip", zipfile.ZIP_DEFLATED, below)
    assert samples(archive) == samples(archive, format="mds") == samples(tmp_path / "out.mds")
    plan = hr.read(str(archive)).batch(3)
    plan.save_plan(tmp_path / "plan.json")
    assert len(list(hr.load_plan(tmp_path / "plan.json"))) == 4


@pytest.mark.skipif(CLI is None, reason="wants the command line")
def test_indexes_lie_beside_the_archive(tmp_path, photos):
    archive = zipped(write_tars(tmp_path / "tars"), tmp_path / "tars.zip")
    images = zipped(photos, tmp_path / "photos.zip")
    for path in (archive, images):
        subprocess.run([CLI, "index", path, "--beside"], check=True, capture_output=True)
    kept = sorted(p.name for p in (tmp_path / ".headrace").glob("*.hri"))
    assert "tars.zip.list.hri" in kept and len(kept) == 2, kept
    assert len(hr.read(str(archive))) == 60


def test_several_archives_are_one_set_of_shards(tmp_path):
    folder = write_tars(tmp_path / "tars")
    parts = []
    for shard in range(3):
        part = tmp_path / f"part-{shard}.zip"
        with zipfile.ZipFile(part, "w") as out:
            out.write(folder / f"shard-{shard:03}.tar", f"shard-{shard:03}.tar")
        parts.append(str(part))
    expected = samples(folder)
    assert [dict(s) for s in hr.read(parts)] == expected
    assert samples(tmp_path / "part-*.zip") == expected
    assert samples(tmp_path / "part-*.zip", format="webdataset") == expected
    shutil.rmtree(folder)
    assert samples(tmp_path) == samples(tmp_path, format="webdataset") == expected


@pytest.mark.parametrize("ending", [".zarr", ".parquet", ".arrow"])
def test_tables_and_arrays_inside(tmp_path, pack, ending):
    ds = hr.from_arrays({"x": np.arange(600, dtype=np.int32).reshape(200, 3), "y": np.arange(200)})
    (tmp_path / "data").mkdir()
    ds.write(str(tmp_path / "data" / f"set{ending}"))
    archive = pack(tmp_path / "data", tmp_path / "data.packed")
    read = hr.read(str(archive)).shuffle(seed=1).batch(200)
    expected = hr.read(str(tmp_path / "data" / f"set{ending}")).shuffle(seed=1).batch(200)
    there, here = next(iter(expected)), next(iter(read))
    assert (there["x"] == here["x"]).all() and (there["y"] == here["y"]).all()


def test_one_folder_of_images_is_a_class(tmp_path, photos):
    archive = zipped(photos / "cat", tmp_path / "x.zip", below="photos/cat/")
    with zipfile.ZipFile(archive, "a") as out:
        out.writestr("__MACOSX/photos/cat/._0.jpg", b"Mac OS X")
        out.writestr("photos/.DS_Store", b"Bud1")
    ds = hr.read(str(archive))
    assert ds.metadata["classes"] == ["cat"] and len(ds) == 6


def test_npz_stays_a_file(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(4), b=np.zeros((4, 2)))
    assert list(hr.read(str(tmp_path / "x.npz")).schema) == ["a", "b"]
    shutil.copy(tmp_path / "x.npz", tmp_path / "x.zip")
    assert list(hr.read(str(tmp_path / "x.zip")).schema) == ["a", "b"]
    # Named as a folder, it is one of two files of rows.
    assert list(hr.read(str(tmp_path / "x.zip") + "/a.npy").schema) == ["array"]
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as out:
        out.writestr("notes.txt", "more")
    assert list(hr.read(str(tmp_path / "x.npz")).schema) == ["a", "b"]


def test_every_member_is_read_as_zipfile_reads_it(tmp_path):
    members = {
        "stored.bin": (bytes(range(256)) * 4, zipfile.ZIP_STORED),
        "deflated.bin": (b"abc" * 1000, zipfile.ZIP_DEFLATED),
        "empty.bin": (b"", zipfile.ZIP_STORED),
        "größe/naïve.bin": ("ß".encode() * 9, zipfile.ZIP_DEFLATED),
    }
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        for name, (data, how) in members.items():
            info = zipfile.ZipInfo(name)
            info.extra = b"\x99\x99\x04\x00abcd"
            out.writestr(info, data, how)
    for name, (data, _) in members.items():
        if data:
            assert read_file(tmp_path / "x.zip" / name) == data


def read_file(path, record=1):
    """The bytes of any file, as records of a byte joined again."""
    ds = hr.read_fixed(str(path), record_bytes=record)
    return b"".join(bytes(s["record"]) for s in ds)


def test_large_deflated_members_are_read_at_random(tmp_path):
    """Above what is unpacked whole, places to begin are noted."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 40, size=(9000, 4096), dtype=np.uint8)  # 37 MB, packs to less
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        out.writestr("rows.bin", rows.tobytes())
    ds = hr.read_fixed(str(tmp_path / "x.zip" / "rows.bin"), record_bytes=4096)
    assert len(ds) == 9000
    for i in (0, 8999, 4321, 17, 7000):
        assert bytes(ds[i]["record"]) == rows[i].tobytes()
    sums = [int(np.frombuffer(bytes(s["record"]), np.uint8).sum()) for s in ds.shuffle(seed=1).take(50)]
    expected = [int(np.frombuffer(bytes(s["record"]), np.uint8).sum()) for s in ds.shuffle(seed=1).take(50)]
    assert sums == expected


def test_zip64_and_data_descriptors(tmp_path):
    class Unseekable(io.RawIOBase):
        def __init__(self, file):
            self.file = file

        def writable(self):
            return True

        def write(self, data):
            return self.file.write(data)

    with (
        (tmp_path / "x.zip").open("wb") as file,
        zipfile.ZipFile(Unseekable(file), "w", zipfile.ZIP_DEFLATED) as out,
    ):
        for i in range(3):
            with out.open(f"{i}.txt", "w", force_zip64=True) as member:
                member.write(f"line {i}\n".encode() * 10)
    assert [s["line"] for s in hr.read_text(str(tmp_path / "x.zip"))][:11] == ["line 0"] * 10 + ["line 1"]


def test_what_is_not_read_is_refused_by_name(tmp_path):
    for how, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")):
        with zipfile.ZipFile(tmp_path / "x.zip", "w", how) as out:
            out.writestr("x.txt", "text " * 100)
        with pytest.raises(Exception, match=name):
            hr.read_text(str(tmp_path / "x.zip" / "x.txt"))
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as out:
        out.writestr("x.txt", "text")
    raw = bytearray((tmp_path / "y.zip").read_bytes())
    at = raw.index(b"PK\1\2")
    raw[at + 8] |= 1
    (tmp_path / "y.zip").write_bytes(raw)
    with pytest.raises(Exception, match="encrypted"):
        hr.read_text(str(tmp_path / "y.zip" / "x.txt"))


def test_links_stay_inside(tmp_path, photos):
    (photos / "dog" / "link.jpg").symlink_to("../cat/0.jpg")
    (photos / "zebra").symlink_to("cat")
    (photos / "out").symlink_to("/etc")
    (photos / "loop").symlink_to(".")
    archives = []
    if shutil.which("zip"):
        subprocess.run(["zip", "-qry", str(tmp_path / "x.zip"), "."], cwd=photos, check=True)
        archives.append(tmp_path / "x.zip")
    if MKSQUASHFS:
        archives.append(squashed(photos, tmp_path / "x.sqsh"))
    (photos / "out").unlink()
    (photos / "out").mkdir()  # what cannot be examined keeps its label, as an empty class does
    (photos / "loop").unlink()
    expected = samples(photos)
    assert len(expected) == 19
    for archive in archives:
        with pytest.raises(FileNotFoundError, match="out': a link that leads nowhere"):
            hr.read(str(archive))
        with pytest.warns(UserWarning, match="out' (.*)leads nowhere"):
            assert samples(archive, skip_unreadable=True) == expected
        with pytest.warns(UserWarning, match="'loop' is a link that leads back"):
            data = hr.read(str(archive), skip_unreadable=True)
        assert [one["path"] for one in data.metadata["unreadable"]] == [f"{archive}/out"]
        assert [one["path"] for one in data.metadata["problems"]] == ["loop"]


def test_archives_in_an_archive_are_said(tmp_path, photos):
    for name in ("train", "val"):
        zipped(photos, tmp_path / f"{name}.zip", zipfile.ZIP_STORED)
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as file:
        for name in ("train", "val"):
            file.write(tmp_path / f"{name}.zip", f"{name}.zip")
    for path, options in (
        (tmp_path / "outer.zip", {"split": "train"}),
        (tmp_path / "outer.zip/train.zip", {}),
    ):
        with pytest.raises(OSError, match="archives in archives are not read; unpack the outer one first"):
            hr.read(str(path), **options)


def test_an_empty_class_folder_keeps_its_number(tmp_path, photos):
    """As in a folder: labels of the classes behind it do not shift."""
    (photos / "ant").mkdir()
    (photos / "bear" / "none").mkdir(parents=True)
    archives = []
    if shutil.which("zip"):
        subprocess.run(["zip", "-qr", str(tmp_path / "x.zip"), "."], cwd=photos, check=True)
        archives.append(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "by_python.zip", "w") as file:
        for path in sorted(photos.rglob("*")):
            file.write(path, f"set/{path.relative_to(photos)}")
    archives.append(tmp_path / "by_python.zip/set")
    if MKSQUASHFS:
        archives.append(squashed(photos, tmp_path / "x.sqsh"))
    expected = samples(photos)
    classes = hr.read(str(photos)).metadata["classes"]
    assert classes[:2] == ["ant", "bear"]
    for archive in archives:
        assert hr.read(str(archive)).metadata["classes"] == classes
        assert samples(archive) == expected


@needs_mksquashfs
@pytest.mark.parametrize("packing", ["gzip", "lz4", "zstd"])
def test_files_of_many_blocks(tmp_path, packing):
    """Sparse blocks, blocks that do not pack, tails in fragments and none, hard links."""
    folder = tmp_path / "files"
    folder.mkdir()
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, size=3_000_000, dtype=np.uint8).tobytes()
    files = {
        "noise.bin": noise,
        "zeros.bin": bytes(1 << 20),
        "mixed.bin": bytes(600_000) + noise[:700_001] + b"x" * 500_000,
        "whole.bin": b"ab" * 65536,
        "many.bin": b"".join(noise[i : i + 999] * 3 for i in range(0, 2_900_000, 999)),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    os.link(folder / "many.bin", folder / "other.bin")
    for options in ([], ["-b", "4096"], ["-b", "1M"], ["-no-fragments"], ["-no-tailends"]):
        try:
            image = squashed(folder, tmp_path / "x.sqsh", "-comp", packing, *options)
        except subprocess.CalledProcessError:
            continue  # a version that has no such option
        for name, data in {**files, "other.bin": files["many.bin"]}.items():
            length = len(data)
            ds = hr.read_fixed(str(image / name), record_bytes=length)
            assert hashlib.sha1(bytes(ds[0]["record"])).digest() == hashlib.sha1(data).digest(), (
                name,
                options,
            )
            step = next(n for n in (997, 1000, 1024, 1) if length % n == 0)
            parts = hr.read_fixed(str(image / name), record_bytes=step)
            for i in (0, len(parts) // 2, len(parts) - 1):
                assert bytes(parts[i]["record"]) == data[i * step : (i + 1) * step], (name, options, i)


@needs_mksquashfs
def test_packings_that_are_not_read_are_refused_by_name(tmp_path, photos):
    for packing in ("xz", "lzo"):
        try:
            image = squashed(photos, tmp_path / "x.sqsh", "-comp", packing)
        except subprocess.CalledProcessError:
            continue
        with pytest.raises(Exception, match=packing):
            hr.read(f"{image}/cat", format="images")


def test_an_archive_that_changes_is_read_again(tmp_path, photos):
    archive = zipped(photos / "cat", tmp_path / "x.zip")
    assert len(hr.read(str(archive), format="images")) == 6
    shutil.copy(photos / "cat" / "0.jpg", photos / "cat" / "9.jpg")
    zipped(photos / "cat", archive)
    assert len(hr.read(str(archive), format="images")) == 7


@pytest.mark.skipif(not ZIPS, reason="wants HEADRACE_DATA")
@pytest.mark.parametrize("path", ZIPS, ids=[p.name for p in ZIPS])
def test_real_zips(path):
    """Members, as Python's zipfile has them; what that cannot read is refused."""
    try:
        with zipfile.ZipFile(path) as there:
            members = {i.filename: i for i in there.infolist() if not i.is_dir()}
            data = {name: there.read(name) for name, info in members.items() if info.compress_type in (0, 8)}
    except (zipfile.BadZipFile, NotImplementedError):
        with pytest.raises(Exception):  # noqa: B017
            hr.read(str(path))
        return
    found = {os.path.relpath(p, path) for p in listed(f"{path}/**/*")}
    hidden = {n for n in members if any(part.startswith(".") for part in n.split("/"))}
    if "unicode" not in path.name:
        assert found == {os.path.normpath(n) for n in members} - hidden
    for name, bytes_ in data.items():
        if bytes_ and "unicode" not in path.name:
            ds = hr.read_fixed(f"{path}/{name}", record_bytes=len(bytes_))
            assert bytes(ds[0]["record"]) == bytes_


@pytest.mark.parametrize("step", [1, 7])
def test_cut_and_flipped_archives_are_refused_or_read(tmp_path, photos, step):
    made = [zipped(photos, tmp_path / "x.zip", zipfile.ZIP_DEFLATED)]
    if MKSQUASHFS:
        made.append(squashed(photos, tmp_path / "x.sqsh"))
    rng = np.random.default_rng(step)
    for archive in made:
        whole = archive.read_bytes()
        for trial in range(60):
            raw = bytearray(whole)
            if trial % 3 == 0:
                del raw[rng.integers(0, len(raw)) :]
            else:
                # Where the numbers are: at the end, and for squashfs in the superblock too.
                end = min(len(raw), 1200)
                for _ in range(step):
                    at = len(raw) - 1 - rng.integers(0, end) if rng.random() < 0.8 else rng.integers(0, 96)
                    raw[at] = rng.integers(0, 256)
            path = tmp_path / f"hostile{trial}"
            path.write_bytes(raw)
            try:
                for _ in hr.read(str(path), format="images").on_error("skip"):
                    pass
            except Exception as error:  # noqa: BLE001
                assert "internal" not in str(error).lower()
            path.unlink()


@needs_mksquashfs
def test_folders_that_lead_into_themselves_are_refused(tmp_path):
    """The one entry of the inner folder is made to lead to the root."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "x.txt").write_text("x")
    image = squashed(tmp_path / "a", tmp_path / "x.sqsh", "-noI")
    raw = bytearray(image.read_bytes())
    root = struct.unpack_from("<Q", raw, 32)[0]
    entries = struct.unpack_from("<Q", raw, 72)[0] + 2
    runs = [
        i
        for i in range(entries, len(raw) - 8)
        if raw[i + 8 : i + 9] == b"c" and raw[i + 6 : i + 8] == b"\0\0"
    ]
    assert runs
    struct.pack_into("<H", raw, runs[0], root & 0xFFFF)
    image.write_bytes(raw)
    with pytest.raises(Exception, match=r"again|another inode"):
        hr.read(f"{image}/", format="images")


@pytest.mark.skipif(CLI is None, reason="wants the command line")
def test_inspect_names_what_lies_inside(tmp_path, photos):
    archive = zipped(photos, tmp_path / "photos.zip")
    out = subprocess.run([CLI, "inspect", archive, "--json"], check=True, capture_output=True, text=True)
    found = json.loads(out.stdout)
    assert found["format"] == "image_folder" and found["samples"] == 12


def test_a_zip_that_no_format_knows_says_what_it_holds(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("a.docx", "x")
    with pytest.raises(Exception, match=r"folder of 1 files: 'a\.docx'"):
        hr.read(str(tmp_path / "x.zip"))
    (tmp_path / "y.zip").write_bytes((tmp_path / "x.zip").read_bytes()[:-10])
    with pytest.raises(Exception, match="there is no directory at its end"):
        hr.read(str(tmp_path / "y.zip"))
