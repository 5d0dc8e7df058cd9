"""tf.data: read_file -> decode_and_crop_jpeg -> resize (not antialiased) -> flip -> normalise -> batch, NHWC.

Its fastest path: the crop is drawn from the header and only that part is decoded, with the default DCT of libjpeg-turbo
as TensorFlow sets it (fast and less accurate). Eval also crops first and resizes the crop: less work than resize, then crop.
"""

import os
from typing import Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf

from .segment import BATCH, CENTER, MEAN, SIDE, STD, files, serve, task

data, workers, work, _ = task()
tf.config.threading.set_inter_op_parallelism_threads(workers)
tf.config.threading.set_intra_op_parallelism_threads(1)
mean, inverse = tf.constant(MEAN) * 255, 1 / (tf.constant(STD) * 255)


def random_box(raw: Any) -> Any:
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(raw),
        tf.zeros([1, 0, 4], tf.float32),
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.08, 1.0),
        min_object_covered=0.0,
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.concat([begin[:2], size[:2]], axis=0)


def center_box(raw: Any) -> Any:
    shape = tf.image.extract_jpeg_shape(raw)[:2]
    side = tf.cast(tf.cast(tf.reduce_min(shape), tf.float32) * CENTER, tf.int32)
    return tf.concat([(shape - side) // 2, [side, side]], axis=0)


def make(path: Any) -> Any:
    raw = tf.io.read_file(path)
    box = random_box(raw) if work == "train" else center_box(raw)
    # Its fastest decoding, which is not its default.
    crop = tf.image.decode_and_crop_jpeg(
        raw, box, channels=3, fancy_upscaling=False, dct_method="INTEGER_FAST"
    )
    image = tf.image.resize(crop, (SIDE, SIDE))
    if work == "train":
        image = tf.image.random_flip_left_right(image)
    return (image - mean) * inverse


options = tf.data.Options()
options.threading.private_threadpool_size = workers
paths = files(data)
dataset = tf.data.Dataset.from_tensor_slices(paths)
dataset = dataset.shuffle(len(paths)).repeat() if work == "train" else dataset.repeat()
dataset = dataset.map(make, num_parallel_calls=workers, deterministic=True)
dataset = dataset.batch(BATCH, drop_remainder=True).prefetch(2).with_options(options)
serve(iter(dataset.as_numpy_iterator()), BATCH)
