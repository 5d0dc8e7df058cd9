"""One epoch of ImageNet training data in Python, and a hash of its batches.

python examples/imagenet.py demo-data/train

imagenet.cc and imagenet.json are the same pipeline and give the same hash.
"""

import sys

import xxhash

import headrace as hr
from headrace import ops


def augment(sample):
    image = ops.random_resized_crop(ops.decode_image(sample.image), size=224)
    image = ops.normalize(ops.random_flip(image), mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW")
    return {"image": image, "label": sample.label}


path = sys.argv[1] if len(sys.argv) > 1 else "demo-data/train"
train = hr.read(path).shuffle(seed=17).map(augment).batch(64)

digest = b""  # a hash chain over batches, as in `headrace run`
for batch in train.numpy():
    h = xxhash.xxh3_128(digest)
    for field in batch.values():
        h.update(field)
    digest = h.digest()
print(digest.hex())
