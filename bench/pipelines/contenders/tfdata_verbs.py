"""tf.data: the verbs of headrace_verbs.py."""

import os
import sys
from collections.abc import Callable

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import numpy as np
import tensorflow as tf

from .segment import serve
from .verb_data import FEW, MANY, SIZES, plus_one, sequences

tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)
Data = tf.data.Dataset
integers = Data.range(MANY)
few = Data.range(FEW)


def uneven() -> Data:
    """Sequences held in memory, so that making them does not count."""
    rows = tf.ragged.constant([row.tolist() for row in sequences()], dtype=tf.int64)
    return Data.from_tensor_slices(rows).map(lambda row: row).cache().repeat()


def in_python(function: Callable[..., object]) -> Callable[[tf.Tensor], tf.Tensor]:
    return lambda x: tf.numpy_function(function, [x], tf.int64, stateful=False)


VERBS: dict[str, Callable[[], Data]] = {
    "range": lambda: integers,
    "from_arrays": lambda: Data.from_tensor_slices(np.arange(FEW)).repeat(),
    "map": lambda: integers.map(lambda x: x + 1),
    "map, shuffle": lambda: integers.map(lambda x: x + 1).shuffle(1000),
    "filter": lambda: integers.filter(lambda x: x != 7),
    "interleave": lambda: Data.range(8).interleave(
        lambda _: Data.range(MANY), cycle_length=4, block_length=4
    ),
    "concatenate": lambda: integers.concatenate(integers),
    "zip": lambda: Data.zip((integers, integers)),
    "enumerate": integers.enumerate,
    "mix": lambda: Data.sample_from_datasets([integers, integers], [0.3, 0.7], seed=1),
    "choose": lambda: Data.choose_from_datasets([integers, integers], Data.range(MANY).map(lambda x: x % 2)),
    "skip, take": lambda: integers.skip(5).take(MANY - 9),
    "shard": lambda: integers.shard(4, 1),
    "repeat": few.repeat,
    "shuffle": lambda: integers.shuffle(1000),  # it has no shuffle of all elements
    "shuffle in a window": lambda: integers.shuffle(1000),
    "scan": lambda: integers.scan(tf.constant(0, tf.int64), lambda state, x: (state + x, state)),
    "take_while": lambda: integers.take_while(lambda x: x >= 0),
    "unique": lambda: few.unique().repeat(),
    "cache": lambda: few.map(lambda x: x + 1).cache().repeat(),
    "unbatch": lambda: Data.from_tensor_slices(np.arange(FEW).reshape(-1, 16)).repeat().unbatch(),
    "map in Python": lambda: integers.map(in_python(plus_one)),
    "filter in Python": lambda: integers.filter(
        lambda x: tf.numpy_function(lambda value: value != 7, [x], tf.bool, stateful=False)
    ),
    "from_generator": lambda: Data.from_generator(
        lambda: iter(range(MANY)), output_signature=tf.TensorSpec((), tf.int64)
    ),
}
BATCHES: dict[str, Callable[[], Data]] = {
    "batch of 16": lambda: integers.batch(16),
    "rebatch": lambda: integers.batch(4).rebatch(16),
    "window": lambda: integers.window(16).flat_map(lambda window: window.batch(16)),
    "group_by_window": lambda: integers.group_by_window(
        lambda x: tf.cast(x > 7, tf.int64), lambda _, window: window.batch(16), window_size=16
    ),
    "padded_batch": lambda: uneven().padded_batch(16, [SIZES]),
    "ragged_batch": lambda: uneven().ragged_batch(16),
    "bucket_by_length": lambda: uneven().bucket_by_sequence_length(
        lambda row: tf.shape(row)[0], [4, 6], [16] * 3, padded_shapes=[SIZES]
    ),
}

if __name__ == "__main__":
    verb = sys.argv[1]
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    made = VERBS[verb]().batch(256) if verb in VERBS else BATCHES[verb]()
    batches = iter(made.prefetch(2).with_options(options))
    serve(batches, 256 if verb in VERBS else 16)
