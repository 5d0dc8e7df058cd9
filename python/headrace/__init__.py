"""Headrace: reproducible data pipelines for training, from files to batches.

import headrace as hr
from headrace import ops

train = hr.read("imagenet/train").shuffle(seed=17).map(augment).batch(256)
for batch in train.torch():
    step(batch["image"], batch["label"])
"""

from typing import TYPE_CHECKING, NoReturn

from . import ops
from ._arguments import verb_meant
from ._c_function import CFunction, c_function
from ._core import BytesColumn, RaggedColumn
from ._errors import CorruptSample, HeadraceError
from ._features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from ._index import index
from ._making.generator import ReplayWarning
from ._mapping import PythonFunctionWarning
from ._ragged import ragged
from ._ranks import Ranks, ranks
from ._version import __version__
from ._watching.metrics import metrics
from ._watching.progress import progress
from ._watching.server import MetricsServer, serve_metrics
from ._write import Writer, writer
from .dataset import Dataset, EpochView, FieldSpec, interleave
from .joins import choose, concatenate, mix, zip
from .loaders.loader import merge_states
from .readers import (
    read_array_record,
    read_arrow,
    read_beton,
    read_captions,
    read_cifar,
    read_coco,
    read_csv,
    read_file_list,
    read_fixed,
    read_hdf5,
    read_huggingface,
    read_idx,
    read_image_folder,
    read_imagenet_solution,
    read_images,
    read_json_map,
    read_jsonl,
    read_litdata,
    read_lmdb,
    read_mds,
    read_npy,
    read_npz,
    read_parquet,
    read_recordio,
    read_text,
    read_tfds,
    read_tfrecord,
    read_voc_xml,
    read_webdataset,
    read_zarr,
)
from .sources import (
    counter,
    formats,
    from_arrays,
    from_dataset,
    from_generator,
    from_list,
    list_files,
    list_splits,
    load_plan,
    operators,
    random,
    range,
    read,
)

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "BytesColumn",
    "CFunction",
    "CorruptSample",
    "Dataset",
    "EpochView",
    "FieldSpec",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "HeadraceError",
    "MetricsServer",
    "PythonFunctionWarning",
    "RaggedColumn",
    "Ranks",
    "ReplayWarning",
    "VarLenFeature",
    "Writer",
    "__version__",
    "c_function",
    "choose",
    "concatenate",
    "counter",
    "formats",
    "from_arrays",
    "from_dataset",
    "from_generator",
    "from_list",
    "index",
    "interleave",
    "list_files",
    "list_splits",
    "load_plan",
    "merge_states",
    "metrics",
    "mix",
    "operators",
    "ops",
    "progress",
    "ragged",
    "random",
    "range",
    "ranks",
    "read",
    "read_array_record",
    "read_arrow",
    "read_beton",
    "read_captions",
    "read_cifar",
    "read_coco",
    "read_csv",
    "read_file_list",
    "read_fixed",
    "read_hdf5",
    "read_huggingface",
    "read_idx",
    "read_image_folder",
    "read_imagenet_solution",
    "read_images",
    "read_json_map",
    "read_jsonl",
    "read_litdata",
    "read_lmdb",
    "read_mds",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_recordio",
    "read_text",
    "read_tfds",
    "read_tfrecord",
    "read_voc_xml",
    "read_webdataset",
    "read_zarr",
    "serve_metrics",
    "writer",
    "zip",
]


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(
            f"module 'headrace' has no attribute {name!r}{verb_meant(name, __all__)}", name=name
        )


def __dir__() -> list[str]:
    return __all__
