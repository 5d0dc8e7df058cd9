"""tf.data's side of the comparison: expressions in, what their datasets hold out, a line of JSON each.

    python -m tests.oracle.pipelines.child

It runs from the root of the checkout, in an interpreter that has TensorFlow, and evaluates what generate.py wrote: run it on nothing else.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx

from . import twins
from .files import file_of
from .told import told

as_written = functools.partial(
    ag_ctx.ControlStatusCtx, ag_ctx.Status.DISABLED
)  # no search for sources that no file has
ENOUGH = 2000  # elements; a pipeline has fewer


def as_numpy(value: Any) -> Any:
    """A leaf of an element as NumPy has it; a ragged one as the list of its rows, which are arrays."""
    if isinstance(value, tf.RaggedTensor):
        return [row.to_tensor().numpy() if isinstance(row, tf.RaggedTensor) else row.numpy() for row in value]
    return value.numpy() if hasattr(value, "numpy") else value


def elements(dataset: tf.data.Dataset) -> list[Any]:
    nested = (tf.nest.map_structure(as_numpy, element) for element in itertools.islice(dataset, ENOUGH))
    return [told(element) for element in nested]


def answer(expression: str) -> dict[str, Any]:
    names = {"tf": tf, "np": np, "nan": np.nan, "inf": np.inf, "file_of": file_of, **vars(twins)}
    try:
        with as_written():
            dataset = twins.quick(eval(expression, names))
        return {"elements": elements(dataset), "cardinality": int(dataset.cardinality())}
    except Exception as error:  # noqa: BLE001 -- whatever it raises is the answer
        return {"error": f"{type(error).__name__}: {error}"[:2000]}


def main() -> None:
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    answers = os.fdopen(os.dup(1), "w")  # TensorFlow may write to the other
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
