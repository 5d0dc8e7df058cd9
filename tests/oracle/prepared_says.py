"""Data sets prepared by TensorFlow Datasets or by Hugging Face's datasets, and what these read of them; in an interpreter that has them.

    python tests/oracle/prepared_says.py tfds|huggingface FOLDER > answers.json

Run by test_prepared.py; nothing here knows of Headrace. Answers are lists of samples by split; bytes are in hexadecimal.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ |= {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "HF_HUB_OFFLINE": "1"}

import numpy as np

SPLITS = ["train", "train[:10%]", "train[10%:]", "train[37%:63%]", "train[-7:]", "train[5:-5]", "train[:50%]"]

BOUNDARIES = {
    "tfds": ["", "0", "5", "-5", "-0", "43", "44", "-43", "-44", "1_0", "10%", "-10%", "100%", "101%", "33.3%", ".5%",
             "5.%", "1shard", "-1shard", "0shard", "5shard", "-6shard", "9shard", "-9shard", "1.5", "1__0", "_1", "x"],
    "huggingface": ["", "0", "5", "-5", "-0", "43", "44", "-43", "-44", "1_0", "10%", "-10%", "100%", "101%", "3_3%",
                    "0%", "-100%", "33.3%", "1shard", "1.5", "1__0", "_1", "x"],
}  # fmt: skip
SUMS = ["all", "all+test", "all[:5]", "train + test", " train", "train[:5]+train[3:8]", "test[5:]+train[-2:]+test[:1]",
        "train[]", "train[", "train[5]", "train[2shard]", "train[-1shard]", "train[-2shard]", "train[7shard]",
        "train[1:2:3]", "train[1 :2]", "train+", "+train", "", "dev", "train[:10%](closest)", "train(closest)",
        "many[:15%](pct1_dropremainder)", "many[33%:67%](pct1_dropremainder)", "many[-1%:](pct1_dropremainder)",
        "many[:50](pct1_dropremainder)", "many[:10%](up)", "train[:10%](pct1_dropremainder)",
        "many[:3%](pct1_dropremainder)+many[:4%]", "many[50%:](pct1_dropremainder)+many[:2]"]  # fmt: skip


def specs(library: str) -> list[str]:
    """Return splits of many kinds, most of them with two boundaries."""
    return [f"train[{a}:{b}]" for a in BOUNDARIES[library] for b in BOUNDARIES[library]] + SUMS


BUILDER = """
import numpy as np
import tensorflow_datasets as tfds

class Toy(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        sequence, tensor, text = tfds.features.Sequence, tfds.features.Tensor, tfds.features.Text
        return self.dataset_info_from_configs(features=tfds.features.FeaturesDict({
            "image": tfds.features.Image(shape=(None, None, 3), encoding_format="png"),
            "label": tfds.features.ClassLabel(names=["cat", "dog"]), "text": text(),
            "vec": tensor(shape=(3,), dtype=np.float32), "dyn": tensor(shape=(None, 2), dtype=np.int64),
            "objects": sequence({"bbox": tfds.features.BBoxFeature(),
                                 "label": tfds.features.ClassLabel(num_classes=4), "flag": np.bool_}),
            "meta": {"id": np.int64, "name": text(), "u": np.uint8, "big": np.uint64, "d": np.float64},
            "seq": sequence(np.int32), "texts": sequence(text()), "lists": sequence(sequence(np.int64)),
            "images": sequence(tfds.features.Image(encoding_format="png")),
        }))

    def _split_generators(self, manager):
        return {"train": self._generate_examples(43), "test": self._generate_examples(7)}

    def _generate_examples(self, count):
        for i in range(count):
            draw = np.random.RandomState(i)
            pixels = draw.randint(0, 255, (4 + i % 3, 5, 3)).astype(np.uint8)
            yield i, {
                "image": pixels, "label": i % 2, "text": f"t{i} \u00e9", "vec": draw.rand(3).astype(np.float32),
                "dyn": draw.randint(-9, 9, (i % 4, 2)),
                "objects": [{"bbox": tfds.features.BBox(0.1, 0.2, 0.3, 0.4 + j / 100), "label": j % 4,
                             "flag": j % 2 == 0} for j in range(i % 3)],
                "meta": {"id": i - 5, "name": f"n{i}", "u": i, "big": 2**64 - 1 - i, "d": i / 4},
                "seq": list(range(i % 5)), "texts": ["a" * (k + 1) for k in range(i % 3)],
                "lists": [list(range(k)) for k in range(i % 4)], "images": [pixels] * (i % 3),
            }
"""


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if hasattr(value, "to_list"):  # ragged
        return value.to_list()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def rows_by_tfds(splits: Any, spec: str) -> list[tuple[str, int, int]]:
    """Return which rows of which splits tfds would read; none where a part ends before it begins, which it does not notice."""
    module = importlib.import_module("tensorflow_datasets.core.splits")
    for part in module._make_absolute_instructions(list(splits.values()), spec):
        if part.to is not None and (part.from_ or 0) > part.to:
            return []
    out = []
    for part in splits[spec].file_instructions:
        name, shard = Path(part.filename).name.split("-")[1:3]
        split = name.split(".")[0]
        first = sum(splits[split].shard_lengths[: int(shard)]) + part.skip
        take = part.examples_in_shard - part.skip if part.take == -1 else part.take
        out.append((split, first, first + take))
    return out


def meanings(library: str, rows: Callable[[str], list[tuple[str, int, int]]]) -> dict[str, Any]:
    """Return the rows that each split is, null where it is refused."""
    out: dict[str, Any] = {}
    for spec in specs(library):
        try:
            out[spec] = rows(spec)
        except (ValueError, KeyError, NotImplementedError, RuntimeError):
            out[spec] = None
    return out


def of_tfds(folder: Path) -> Iterator[tuple[str, Any]]:
    tfds = importlib.import_module("tensorflow_datasets")

    package = folder / "made"
    package.mkdir(parents=True)
    (package / "toy.py").write_text(BUILDER)
    (package / "__init__.py").write_text("")
    sys.path.insert(0, str(folder))
    toy = importlib.import_module("made.toy").Toy
    for file_format in ("tfrecord", "array_record"):
        data_dir = folder / file_format
        builder = toy(data_dir=data_dir, file_format=file_format)
        config = tfds.download.DownloadConfig(num_shards=5)
        builder.download_and_prepare(download_config=config)
        if file_format == "tfrecord":
            yield (
                "meanings",
                meanings("tfds", lambda spec, splits=builder.info.splits: rows_by_tfds(splits, spec)),
            )
        for split in (
            [*SPLITS, "test+train[:2]", "train[1shard:3shard]"] if file_format == "tfrecord" else SPLITS
        ):
            if file_format == "tfrecord":
                data = tfds.as_numpy(builder.as_dataset(split=split, shuffle_files=False, read_config=tfds.ReadConfig(
                    interleave_cycle_length=1), decoders={"image": tfds.decode.SkipDecoding(),
                    "images": tfds.decode.SkipDecoding()}))  # fmt: skip
                yield f"{file_format} {split}", [plain(sample) for sample in data]
            else:
                data = builder.as_data_source(split=split)
                yield f"{file_format} {split}", [plain(data[i]["text"]) for i in range(len(data))]


def of_huggingface(folder: Path) -> Iterator[tuple[str, Any]]:
    datasets = importlib.import_module("datasets")

    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "text": datasets.Value("string"),
            "boxes": datasets.List(datasets.List(datasets.Value("float32"), length=4)),
            "ids": datasets.List(datasets.Value("int64")),
            "meta": {"id": datasets.Value("int32"), "name": datasets.Value("string")},
            "vec": datasets.List(datasets.Value("float32"), length=3),
            "flag": datasets.Value("bool"),
            "texts": datasets.List(datasets.Value("string")),
        }
    )

    def generate(first: int, count: int) -> Iterator[dict[str, Any]]:
        for i in range(first, first + count):
            yield {
                "image": {"bytes": b"image %d" % i, "path": None},
                "label": i % 2,
                "text": f"t{i} \u00e9",
                "boxes": [[i, 2.0, 3.0, 4.0]] * (i % 3),
                "ids": list(range(i % 4)),
                "meta": {"id": i, "name": f"n{i}"},
                "vec": [i, i / 2, i / 4],
                "flag": i % 2 == 0,
                "texts": ["a"] * (i % 2),
            }

    cache = folder / "cache"
    made = {
        name: datasets.Dataset.from_generator(
            generate,
            gen_kwargs={"first": first, "count": count},
            features=features,
            cache_dir=str(cache / name),
        )
        for name, first, count in [("train", 0, 43), ("test", 43, 7), ("many", 50, 250)]
    }
    whole = datasets.DatasetDict(made)
    whole.save_to_disk(folder / "dict", num_shards={"train": 5, "test": 1, "many": 2})
    made["train"].select([7, 3, 20]).save_to_disk(folder / "chosen")
    made["train"].filter(lambda label: label == 1, input_columns=["label"]).save_to_disk(folder / "filtered")

    def rows(data: Any) -> list[Any]:
        raw = data.cast_column("image", datasets.Image(decode=False))
        return [plain(row | {"image": row["image"]["bytes"]}) for row in raw]

    sizes = {name: len(data) for name, data in made.items()}
    reader = importlib.import_module("datasets.arrow_reader")

    def absolute(spec: str) -> list[tuple[str, int, int]]:
        return [
            (part.splitname, part.from_, part.to)
            for part in reader.ReadInstruction.from_spec(spec).to_absolute(sizes)
        ]

    yield "meanings", meanings("huggingface", absolute)
    for split in SPLITS:
        name = split.split("[")[0]
        yield f"dict {split}", rows(datasets.load_from_disk(folder / "dict")[name].select(
            range(len(made[name]))[part(split, len(made[name]))]))  # fmt: skip
    yield "chosen ", rows(datasets.load_from_disk(folder / "chosen"))
    yield "filtered ", rows(datasets.load_from_disk(folder / "filtered"))
    cached = next(path.parent for path in (cache / "train").rglob("dataset_info.json"))
    yield f"{cached.relative_to(folder)} train", rows(made["train"])


def part(split: str, size: int) -> slice:
    """Let datasets' own reader say what a split is."""
    reader = importlib.import_module("datasets.arrow_reader")
    absolute = reader.ReadInstruction.from_spec(split).to_absolute({"train": size})[0]
    return slice(absolute.from_, absolute.to)


if __name__ == "__main__":
    makers = {"tfds": of_tfds, "huggingface": of_huggingface}
    stdout, sys.stdout = sys.stdout, sys.stderr
    json.dump(dict(makers[sys.argv[1]](Path(sys.argv[2]))), stdout)
