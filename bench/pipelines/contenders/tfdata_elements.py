"""tf.data: range -> shuffle(1000) -> batch(256) -> map(x + 1), batched first: its fastest order; `plain` maps first."""

import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf

from .segment import serve

plain = sys.argv[1:] == ["plain"]
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)
options = tf.data.Options()
options.threading.private_threadpool_size = 1
dataset = tf.data.Dataset.range(10_000_000).repeat()
if plain:
    dataset = dataset.map(lambda x: x + 1, num_parallel_calls=1).shuffle(1000).batch(256)
else:
    dataset = dataset.shuffle(1000).batch(256).map(lambda x: x + 1, num_parallel_calls=1)
serve(iter(dataset.prefetch(2).with_options(options).as_numpy_iterator()), 256)
