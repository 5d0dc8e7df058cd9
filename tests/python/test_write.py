"""Writing: what is written reads back, and appears whole or not at all."""

import gzip
import hashlib
import io
import json
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace import ops

SAMPLES = [
    {"image": bytes([255, 216, i]) * (i + 1), "label": i, "name": f"größe {i}", "box": np.arange(2 * i, dtype="f4").reshape(-1, 2)}
    for i in range(7)
]  # fmt: skip


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def hashes(folder):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names(folder)}


def images(dataset):
    return [(sample["image"], int(sample["label"])) for sample in dataset]


def broken_rows(path, count):
    """A CSV file, every third of whose rows has no number; the others."""
    lines = ["i,x", *(f"{i},{'oops' if i % 3 == 1 else i / 2}" for i in range(count))]
    path.write_text("\n".join(lines) + "\n")
    return [i for i in range(count) if i % 3 != 1]


class TestWriter:
    def test_what_is_written_appears_when_the_block_ends(self, tmp_path):
        with hr.writer(tmp_path / "out.tfrecord") as writer:
            for sample in SAMPLES:
                writer.write(sample)
            assert [path.name for path in tmp_path.iterdir()] == ["out.tfrecord.partial"]
        assert names(tmp_path) == ["out.tfrecord", "out.tfrecord.headrace.json"]
        assert writer.close()["samples"] == len(SAMPLES)
        manifest = json.loads((tmp_path / "out.tfrecord.headrace.json").read_text())
        assert manifest["schema"]["fields"][3] == {"name": "box", "dtype": "f32", "shape": [None, None]}

    def test_an_exception_leaves_nothing(self, tmp_path):
        with pytest.raises(KeyError), hr.writer(tmp_path / "out.tfrecord") as writer:
            writer.write({"x": 1})
            raise KeyError("x")
        assert names(tmp_path) == []

    def test_an_array_may_be_changed_after_it_was_written(self, tmp_path):
        array = np.zeros(1000, "f4")
        with hr.writer(tmp_path / "out.tfrecord") as writer:
            for i in range(50):
                array[:] = i
                writer.write({"x": array})
        found = hr.read(tmp_path / "out.tfrecord").map(
            lambda s: ops.example_feature(s.record, key="x", dtype="f32", shape=[1000])
        )
        assert [sample[0] for sample in found] == list(range(50))

    def test_a_sample_of_another_structure_is_refused(self, tmp_path):
        reason = "the sample has the field y, but the first one has the field x: 'x' is missing, 'y' is new"
        with pytest.raises(ValueError, match=reason), hr.writer(tmp_path / "out.tfrecord") as writer:
            writer.write({"x": 1})
            writer.write({"y": 1})
        assert names(tmp_path) == []

    def test_nothing_written_wants_a_schema(self, tmp_path):
        with pytest.raises(ValueError, match="expected at least one sample, or a schema"):
            hr.writer(tmp_path / "out.tfrecord").close()
        with hr.writer(tmp_path / "out.tfrecord", {"x": ("i64", [])}):
            pass
        assert (tmp_path / "out.tfrecord").stat().st_size == 0

    def test_a_schema_says_what_may_come(self, tmp_path):
        writer = hr.writer(tmp_path / "out.tfrecord", {"x": ("f32", [3])})
        with pytest.raises(ValueError, match="'x': expected float32"), writer:
            writer.write({"x": np.zeros(4, "f4")})

    def test_unknown_endings_list_the_known(self, tmp_path):
        with pytest.raises(
            ValueError, match=r"names no format that can be written; .*tfrecord \(.tfrecord\)"
        ):
            hr.writer(tmp_path / "out.abc", {"x": ("f32", [3])})


class TestDatasetWrite:
    def test_files_do_not_depend_on_workers(self, photos, tmp_path):
        data = hr.read(photos).shuffle(seed=3)
        for workers in (1, 2, 4):
            data.options(workers=workers).write(tmp_path / str(workers), format="webdataset", shard_size=3000)
        assert hashes(tmp_path / "1") == hashes(tmp_path / "2") == hashes(tmp_path / "4")
        assert len(names(tmp_path / "1")) > 3

    def test_shards_are_read_in_the_order_in_which_they_were_written(self, photos, tmp_path):
        data = hr.read(photos).shuffle(seed=3)
        report = data.write(tmp_path / "out", format="webdataset", shards=5, verify=True)
        assert report == {
            "format": "webdataset", "samples": 12, "bytes": report["bytes"], "shards": 5, "reused_shards": 0, "broken": 0,
        }  # fmt: skip
        found = hr.read(tmp_path / "out")
        assert [(s["jpg"], s["cls"]) for s in found] == images(data)

    @pytest.mark.parametrize("count", [0, 1])
    def test_few_samples_are_written_too(self, photos, tmp_path, count):
        report = hr.read(photos).take(count).write(tmp_path / "out", format="tfrecord", shards=2, verify=True)
        assert (report["samples"], report["shards"]) == (count, 2)

    def test_what_is_there_is_kept_unless_it_is_ours_and_may_go(self, photos, tmp_path):
        data, out = hr.read(photos), tmp_path / "out.tar"
        out.write_text("somebody's")
        with pytest.raises(
            ValueError, match=r"exists already, and overwrite=True .* replaces only a data set that"
        ):
            data.write(out)
        with pytest.raises(ValueError, match="replaces only a data set that Headrace wrote"):
            data.write(out, overwrite=True)
        assert out.read_text() == "somebody's"
        out.unlink()
        data.write(out)
        with pytest.raises(ValueError, match="exists already; overwrite=True"):
            data.write(out)
        data.take(3).write(out, overwrite=True)
        assert len(hr.read(out)) == 3
        assert names(tmp_path)[:2] == ["out.tar", "out.tar.headrace.json"]

    def test_broken_samples_are_listed(self, photos, tmp_path):
        (photos / "cat" / "2.jpg").write_bytes((photos / "cat" / "2.jpg").read_bytes()[:-50])
        (photos / "dog" / "5.jpg").write_bytes(b"nothing")
        with pytest.raises(hr.CorruptSample):
            hr.read(photos).write(tmp_path / "out", format="tfrecord", shards=2, check_images=True)
        assert not (tmp_path / "out").exists()
        report = hr.read(photos).write(
            tmp_path / "out", format="tfrecord", shards=2, check_images=True, drop_broken=True, verify=True
        )
        assert (report["samples"], report["broken"]) == (10, 2)
        broken = json.loads((tmp_path / "out" / "quarantine.json").read_text())["broken"]
        assert [entry["position"] for entry in broken] == [2, 11]
        assert "cat/2.jpg" in broken[0]["reason"]
        assert len(hr.read(tmp_path / "out")) == 10

    def test_broken_rows_are_left_out_with_their_positions_and_reasons(self, tmp_path):
        rows = broken_rows(tmp_path / "in.csv", 3000)
        report = hr.read(tmp_path / "in.csv", dtypes={"x": "f64"}).write(
            tmp_path / "out.csv", drop_broken=True, verify=True
        )
        assert (report["samples"], report["broken"]) == (2000, 1000)
        broken = json.loads((tmp_path / "out.csv.quarantine.json").read_text())["broken"]
        assert [entry["position"] for entry in broken] == list(range(1, 3000, 3))
        assert "column 'x': expected float64, got 'oops': sample 1 of" in broken[0]["reason"]
        assert [sample["i"] for sample in hr.read(tmp_path / "out.csv")] == rows

    @pytest.mark.alone
    def test_a_broken_row_costs_little(self, tmp_path):
        broken_rows(tmp_path / "in.csv", 15000)
        began = time.monotonic()
        report = hr.read(tmp_path / "in.csv", dtypes={"x": "f64"}).write(
            tmp_path / "out.csv", drop_broken=True
        )
        assert report["broken"] == 5000
        assert time.monotonic() - began < 2.5  # 0.5 ms each; threads that are begun anew for each take 2 ms

    def test_rows_of_batches_are_left_out_alone(self, tmp_path):
        rows = broken_rows(tmp_path / "in.csv", 60)
        hr.read(tmp_path / "in.csv", dtypes={"x": "f64"}).batch(4).write(
            tmp_path / "out.tfrecord", drop_broken=True
        )
        assert len(hr.read(tmp_path / "out.tfrecord")) == len(rows) / 4

    def test_a_batch_is_refused_with_what_to_do(self, photos, tmp_path):
        with pytest.raises(ValueError, match="write before batch"):
            hr.read(photos).batch(2, ragged=True).write(tmp_path / "out.tfrecord")

    def test_without_an_end_nothing_is_written(self, photos, tmp_path):
        with pytest.raises(ValueError, match="the dataset is infinite"):
            hr.read(photos).repeat().write(tmp_path / "out.tfrecord")

    def test_progress_counts_and_stops(self, photos, tmp_path):
        seen = []
        with pytest.raises(hr.HeadraceError, match="stopped"):
            hr.read(photos).write(tmp_path / "out.tar", progress=lambda p: seen.append(p) or False)
        assert not (tmp_path / "out.tar").exists()
        assert seen[0]["total"] == 12
        with pytest.raises(ZeroDivisionError):
            hr.read(photos).write(tmp_path / "out.tar", progress=lambda _: 1 // 0)

    def test_what_is_not_whole_is_no_data_set(self, photos, tmp_path):
        refused = []

        def look(progress):
            for path in ("out.partial", "out.partial/.data", "out.partial/.data/out"):
                with pytest.raises(ValueError, match="is an unfinished data set"):
                    hr.read(tmp_path / path)
                refused.append(path)
            return progress["phase"] == "writing"

        with pytest.raises(hr.HeadraceError, match="stopped"):
            hr.read(photos).write(tmp_path / "out", format="image_folder", progress=look)
        assert len(refused) >= 3
        assert not list(tmp_path.glob("out*"))  # no run could go on from it


class TestTfrecord:
    def test_examples_hold_what_was_written(self, tmp_path):
        with hr.writer(tmp_path / "out.tfrecord") as writer:
            for sample in SAMPLES:
                writer.write(sample)

        def features(s):
            def take(key, dtype, shape):
                return ops.example_feature(s.record, key=key, dtype=dtype, shape=shape)

            return {
                "image": take("image", "bytes", []), "label": take("label", "i64", []),
                "name": take("name", "bytes", []), "box": take("box", "f32", None),
                "box/shape": take("box/shape", "i64", [2]),
            }  # fmt: skip

        for found, sample in zip(hr.read(tmp_path / "out.tfrecord").map(features), SAMPLES, strict=True):
            assert (found["image"], found["label"]) == (sample["image"], sample["label"])
            assert found["name"].decode() == sample["name"]
            np.testing.assert_array_equal(found["box"].reshape(found["box/shape"]), sample["box"])

    @pytest.mark.parametrize("compression", ["gzip", "zlib"])
    def test_compressed_files_hold_the_same(self, tmp_path, compression):
        plain = hr.from_arrays({"record": [bytes(i) for i in range(100)]})
        plain.write(tmp_path / "plain.tfrecord")
        plain.write(tmp_path / "packed.tfrecord", options={"compression": compression}, verify=True)
        assert [s["record"] for s in hr.read(tmp_path / "packed.tfrecord")] == [bytes(i) for i in range(100)]
        if compression == "gzip":
            packed = gzip.decompress((tmp_path / "packed.tfrecord").read_bytes())
            assert packed == (tmp_path / "plain.tfrecord").read_bytes()

    def test_tensorflow_reads_the_same(self, tmp_path):
        tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
        with hr.writer(tmp_path / "out.tfrecord.gz") as writer:
            for sample in SAMPLES:
                writer.write(sample)
        found = list(tf.data.TFRecordDataset(str(tmp_path / "out.tfrecord.gz"), compression_type="GZIP"))
        for record, sample in zip(found, SAMPLES, strict=True):
            feature = tf.train.Example.FromString(record.numpy()).features.feature
            assert feature["image"].bytes_list.value[0] == sample["image"]
            assert feature["label"].int64_list.value[0] == sample["label"]
            assert feature["name"].bytes_list.value[0].decode() == sample["name"]
            np.testing.assert_array_equal(feature["box"].float_list.value, sample["box"].ravel())
            assert list(feature["box/shape"].int64_list.value) == list(sample["box"].shape)


class TestWebdataset:
    def test_python_reads_the_same_members(self, tmp_path):
        with hr.writer(tmp_path / "out.tar") as writer:
            for sample in SAMPLES:
                writer.write(sample)
        with tarfile.open(tmp_path / "out.tar") as tar:
            members = {member.name: tar.extractfile(member).read() for member in tar}
        assert list(members)[:4] == [f"out-000000000.{s}" for s in ("jpg", "cls", "name.txt", "box.npy")]
        for i, sample in enumerate(SAMPLES):
            key = f"out-{i:09}"
            assert members[f"{key}.jpg"] == sample["image"]
            assert members[f"{key}.cls"] == str(sample["label"]).encode()
            assert members[f"{key}.name.txt"].decode() == sample["name"]
            array = np.load(io.BytesIO(members[f"{key}.box.npy"]), allow_pickle=False)
            np.testing.assert_array_equal(array, sample["box"])

    def test_keys_and_suffixes_that_were_read_are_written(self, tmp_path):
        with hr.writer(tmp_path / "a.tar") as writer:
            for i in range(3):
                key = f"train/{'long' * 60 * i}{i}"
                writer.write({"__key__": key, "seg.png": b"p", "json": b"{}", "cls": i})
        again = hr.read(tmp_path / "a.tar")
        again.write(tmp_path / "b.tar", verify=True)
        assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
        with tarfile.open(tmp_path / "b.tar") as tar:
            assert tar.getnames()[::3] == [f"train/{'long' * 60 * i}{i}.seg.png" for i in range(3)]

    @pytest.mark.parametrize(
        ("key", "reason"), [("a.b", "whose last part has no dot"), ("", "no dot"), ("x", "another key for each")]
    )
    def test_keys_that_would_read_otherwise_are_refused(self, tmp_path, key, reason):
        with pytest.raises(ValueError, match=reason), hr.writer(tmp_path / "out.tar") as writer:
            writer.write({"__key__": "x", "cls": 1})
            writer.write({"__key__": key, "cls": 1})

    def test_webdataset_reads_the_same(self, tmp_path):
        wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
        with hr.writer(tmp_path / "out.tar") as writer:
            for sample in SAMPLES:
                writer.write(sample)
        found = list(wds.WebDataset(str(tmp_path / "out.tar"), shardshuffle=False))
        assert [sample["jpg"] for sample in found] == [sample["image"] for sample in SAMPLES]
        assert [int(sample["cls"]) for sample in found] == [sample["label"] for sample in SAMPLES]


class TestImageFolder:
    def test_classes_and_bytes_are_kept(self, photos, tmp_path):
        data = hr.read(photos)
        data.write(tmp_path / "out", format="image_folder", verify=True)
        copy = hr.read(tmp_path / "out")
        assert copy.metadata["classes"] == ["cat", "dog"]
        assert images(copy) == images(data)

    def test_a_class_without_images_keeps_the_labels_of_the_others(self, photos, tmp_path):
        data = hr.read(photos).skip(6)
        data.write(tmp_path / "out", format="image_folder", verify=True)
        read_with = json.loads((tmp_path / "out" / "headrace.json").read_text())["read_with"]
        assert images(hr.read(tmp_path / "out", **read_with)) == images(data)

    def test_images_without_labels(self, photos, tmp_path):
        data = hr.read_images(photos)
        data.write(tmp_path / "out", format="images", verify=True)
        assert [s["image"] for s in hr.read(tmp_path / "out")] == [s["image"] for s in data]


class TestEncodeImage:
    def test_an_encoded_copy_says_that_it_is_lossy(self, photos, tmp_path):
        def smaller(s):
            image = ops.shrink(ops.decode_image(s.image, match="exact"), max_side=20)
            return {"image": ops.encode_image(image, quality=80), "label": s.label}

        hr.read(photos).map(smaller).write(tmp_path / "out.tar", verify=True)
        manifest = json.loads((tmp_path / "out.tar.headrace.json").read_text())
        assert manifest["metadata"]["lossy"] == {"format": "jpeg", "quality": 80, "subsampling": "4:2:0"}
        for sample in hr.read(tmp_path / "out.tar").map(lambda s: ops.decode_image(s["jpg"])):
            assert max(sample.shape) == 20

    def test_png_loses_nothing(self):
        pixels = np.random.default_rng(0).integers(0, 256, (3, 9, 11, 3), dtype="u1")
        data = hr.from_arrays({"image": pixels}).map(
            lambda s: ops.decode_image(ops.encode_image(s.image, format="png"), color="unchanged")
        )
        np.testing.assert_array_equal(np.stack(list(data)), pixels)

    def test_pillow_reads_the_same_jpeg(self, photos):
        image_module = pytest.importorskip("PIL.Image")
        data = hr.read(photos).map(
            lambda s: ops.encode_image(ops.decode_image(s.image), subsampling="4:4:4", quality=95)
        )
        for encoded, sample in zip(
            data, hr.read(photos).map(lambda s: ops.decode_image(s.image)), strict=True
        ):
            found = np.asarray(image_module.open(io.BytesIO(encoded)))
            assert found.shape == sample.shape
            assert np.abs(found.astype(int) - sample).mean() < 3


def test_a_folder_that_cannot_be_written_to_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises((OSError, ValueError), match=str(tmp_path / "file")):
        hr.range(3).write(Path(tmp_path / "file" / "out.tfrecord"))


def test_labels_of_mxnet_become_folders_where_they_are_whole(tmp_path, photos):
    images = [s["image"] for s in hr.read(photos).take(4)]
    data = hr.from_arrays({"image": images, "label": np.array([3, 0, 3, 12], np.float32)})
    data.write(tmp_path / "x.rec")
    hr.read(tmp_path / "x.rec").map(lambda s: {"image": s.image, "label": s.label}).write(
        tmp_path / "folders", format="image_folder"
    )
    assert sorted(one.name for one in (tmp_path / "folders").iterdir() if one.is_dir()) == [
        "00000000",
        "00000003",
        "00000012",
    ]
    for label in (0.5, -1.0, float("nan"), 1e30):
        odd = hr.from_arrays({"image": images[:1], "label": np.array([label])})
        with pytest.raises(ValueError, match="expected labels that are integers of at least 0, got"):
            odd.write(tmp_path / "odd", format="image_folder")
