"""FFCV: .beton file -> libturbojpeg decode (whole image, fast DCT) -> crop and INTER_AREA resize -> flip -> normalise.

The .beton holds the unchanged bytes of the files (FFCV itself would re-encode them), so that all contenders decode
the same; grey pictures, which it cannot hold, become colour. NormalizeImage comes before ToTensor: after it, FFCV 1.0.2
never returns. Its last argument is a folder for the .beton. Its order contains every picture many times, so that it starts fewer epochs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ffcv.fields import IntField, RGBImageField, rgb_image
from ffcv.fields.decoders import IntDecoder
from ffcv.fields.rgb_image import CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from .segment import BATCH, CENTER, MEAN, SIDE, STD, files, serve, task

data, workers, work, (scratch,) = task()
torch.set_num_threads(1)
paths = files(data)
EPOCHS_AT_ONCE = 64
encode = rgb_image.encode_jpeg


class Files:
    """Gives FFCV the pixels it asks for and keeps the bytes to write in their place."""

    raw: bytes | None = None

    def __len__(self) -> int:
        return len(paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        with Image.open(paths[index]) as image:
            Files.raw = Path(paths[index]).read_bytes() if image.mode == "RGB" else None
            return np.array(image.convert("RGB")), index


def keep_bytes(image: Any, quality: int) -> Any:
    return np.frombuffer(Files.raw, np.uint8) if Files.raw else encode(image, 95)


def write() -> str:
    beton = Path(scratch) / "images.beton"
    if not beton.exists():
        rgb_image.encode_jpeg = keep_bytes
        fields = {"image": RGBImageField(write_mode="jpg"), "label": IntField()}
        DatasetWriter(str(beton), fields, num_workers=1).from_indexed_dataset(Files())
    return str(beton)


def batches() -> Iterator[Any]:
    mean, std = np.array(MEAN) * 255, np.array(STD) * 255
    image: list[Any] = (
        [RandomResizedCropRGBImageDecoder((SIDE, SIDE)), RandomHorizontalFlip()]
        if work == "train"
        else [CenterCropRGBImageDecoder((SIDE, SIDE), ratio=CENTER)]
    )
    image += [NormalizeImage(mean, std, np.float32), ToTensor(), ToTorchImage()]
    loader = Loader(
        write(),
        batch_size=BATCH,
        num_workers=workers,
        os_cache=True,
        drop_last=True,
        batches_ahead=2,
        order=OrderOption.RANDOM if work == "train" else OrderOption.SEQUENTIAL,
        indices=np.tile(np.arange(len(paths)), EPOCHS_AT_ONCE),
        pipelines={"image": image, "label": [IntDecoder()]},
    )
    while True:
        for batch, _ in loader:
            yield batch


serve(batches(), BATCH)
