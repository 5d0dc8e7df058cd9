"""Inference with several processes: every sample exactly once, each prediction with the id of its sample.

torchrun --nproc-per-node 4 examples/inference.py demo-data/train     each process writes its part
python examples/inference.py demo-data/train                          one process simulates four ranks, and checks the parts
"""

import os
import sys

import numpy as np

import headrace as hr
from headrace import ops


def predict(images):
    return images.mean(axis=(1, 2, 3))  # in place of a model


def part(path, rank, world):
    """Return the ids and predictions of one rank. All ranks take the same number of steps, so collectives are safe."""

    def prepare(s):
        image = ops.center_crop(ops.resize(ops.decode_image(s.image), size=256), size=224)
        return {
            "image": ops.normalize(image, mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD),
            "id": s.id,
            "valid": s.valid,
        }

    data = hr.read(path).shard(rank, world, even="pad").with_ids().with_validity().map(prepare).batch(64)
    ids, predictions = [], []
    for batch in data.numpy():
        real = batch["valid"]  # False for samples that were added to make the ranks even
        ids.append(batch["id"][real])
        predictions.append(predict(batch["image"])[real])
    return np.concatenate(ids), np.concatenate(predictions)


path = sys.argv[1] if len(sys.argv) > 1 else "demo-data/train"
if "WORLD_SIZE" in os.environ:
    rank = int(os.environ["RANK"])
    ids, predictions = part(path, rank, int(os.environ["WORLD_SIZE"]))
    np.savez(f"predictions-{rank}.npz", id=ids, prediction=predictions)
else:
    parts = [part(path, rank, 4) for rank in range(4)]
    ids = np.concatenate([ids for ids, _ in parts])
    print(f"predictions per rank: {', '.join(str(len(ids)) for ids, _ in parts)}")
    assert np.array_equal(np.sort(ids), np.arange(len(hr.read(path)))), "each sample exactly once"
    print(f"each of the {len(ids)} samples exactly once")
