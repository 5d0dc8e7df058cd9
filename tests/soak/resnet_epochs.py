"""The ResNet training pipeline over a folder, an epoch for each line on stdin: what test_memory.py watches from outside.

python resnet_epochs.py FOLDER BUDGET WORKERS

Says "ready" after the imports, "epoch" after each epoch; a failure ends it with the error's text as the last line.
"""

import sys

import numpy as np  # noqa: F401  what a training script has imported anyway

import headrace as hr
from headrace import ops


def augment(sample):
    image = ops.random_resized_crop(ops.decode_image(sample.image), size=224)
    image = ops.normalize(ops.random_flip(image), mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW")
    return {"image": image}


def main() -> None:
    folder, budget, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print("ready", flush=True)
    loader = None
    for _ in sys.stdin:
        if loader is None:
            train = hr.read(folder).shuffle(seed=17).map(augment).batch(16)
            loader = train.options(memory_budget=budget, workers=workers).numpy()
        try:
            for batch in loader:
                del batch
        except MemoryError as error:
            print(f"MemoryError: {error}", flush=True)
            return
        print("epoch", flush=True)


main()
