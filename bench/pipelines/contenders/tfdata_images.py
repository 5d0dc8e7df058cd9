"""tf.data: read_file -> decode_and_crop_jpeg -> resize (not antialiased) -> flip -> normalise -> batch, NHWC.

Its fastest path: the crop is drawn from the header and only that part is decoded, with the default DCT of libjpeg-turbo
as TensorFlow sets it (fast and less accurate).
"""

import os
import sys
from typing import Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf

from .segment import BATCH, MEAN, SIDE, STD, files, serve

data, workers = sys.argv[1], int(sys.argv[2])
tf.config.threading.set_inter_op_parallelism_threads(workers)
tf.config.threading.set_intra_op_parallelism_threads(1)
mean, inverse = tf.constant(MEAN) * 255, 1 / (tf.constant(STD) * 255)


def augment(path: Any) -> Any:
    raw = tf.io.read_file(path)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(raw),
        tf.zeros([1, 0, 4], tf.float32),
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.08, 1.0),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    y, x, _ = tf.unstack(begin)
    h, w, _ = tf.unstack(size)
    image = tf.image.decode_and_crop_jpeg(raw, tf.stack([y, x, h, w]), channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, (SIDE, SIDE)))
    return (image - mean) * inverse


options = tf.data.Options()
options.threading.private_threadpool_size = workers
paths = files(data)
dataset = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths)).repeat()
dataset = dataset.map(augment, num_parallel_calls=workers, deterministic=True)
dataset = dataset.batch(BATCH, drop_remainder=True).prefetch(2).with_options(options)
serve(iter(dataset.as_numpy_iterator()), BATCH)
