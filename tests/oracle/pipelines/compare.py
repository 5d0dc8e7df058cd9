"""Both sides of a pipeline, run and compared."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from headrace import ops

from .choices import Choices, shrunk
from .files import file_of
from .generate import pipeline
from .kinds import Pipeline
from .told import alike, has_uneven_texts, shown, told

ROOT = Path(__file__).parents[3]
SHRINKING = 30  # seconds at most
NAMES = {
    "hr": hr,
    "ops": ops,
    "np": np,
    "nan": np.nan,
    "inf": np.inf,
    "file_of": file_of,
}  # in a text of ours


class TensorFlow:
    """An interpreter with TensorFlow that answers what pipelines hold, one after another."""

    def __init__(self, python: str | Path):
        self._python = python
        self._start()

    def _start(self) -> None:
        self._child = subprocess.Popen(
            [self._python, "-m", "tests.oracle.pipelines.child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._questions, self._answers = self._child.stdin, self._child.stdout

    def __enter__(self) -> TensorFlow:
        return self

    def __exit__(self, *_: object) -> None:
        self._questions.close()
        self._answers.close()
        self._child.wait(30)

    def ask(self, expression: str) -> None:
        """Begin: it works while this process does."""
        print(json.dumps(expression), file=self._questions, flush=True)

    def answer(self) -> dict[str, Any]:
        """What the pipeline holds, or its error; a crash is one, too."""
        line = self._answers.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = self._child.wait(30)
        self._start()
        return {"crash": f"the interpreter with TensorFlow ended with {status}"}


def ours(expression: str) -> dict[str, Any]:
    """What Headrace makes of it: iterated, and by position where it has random access."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = eval(expression, dict(NAMES))
            size = dataset._node.size
            elements = [told(element) for element in dataset]
            answer = {"elements": elements, "cardinality": size}
            if dataset._node.indexed and size is not None:
                answer["by position"] = [told(dataset[i]) for i in range(size)]
            return answer
    except Exception as error:  # noqa: BLE001 -- whatever it raises is the answer
        return {"error": f"{type(error).__name__}: {error}"}


@dataclass(frozen=True)
class Difference:
    """A pipeline on which the two do not agree, and why."""

    made: Sequence[int]
    pipeline: Pipeline
    why: str

    def text(self) -> str:
        """What a person can paste into both."""
        return (
            f"{self.why}\n\n# Headrace\nimport numpy as np\nfrom numpy import inf, nan\nimport headrace as hr\nfrom headrace import ops\n"
            "from tests.oracle.pipelines.files import file_of\n"
            f"ds = {self.pipeline.ours}\nprint(list(ds))\n\n# TensorFlow, at the root of the checkout\nimport numpy as np\n"
            "from numpy import inf, nan\nimport tensorflow as tf\nfrom tests.oracle.pipelines.files import file_of\n"
            "from tests.oracle.pipelines.twins import *\n"
            f"ds = {self.pipeline.theirs}\nprint(list(ds.as_numpy_iterator()))\n"
        )


def compare(tensorflow: TensorFlow, made: Pipeline) -> str:
    """Run both at once; why they differ, or nothing."""
    tensorflow.ask(made.theirs)
    mine = ours(made.ours)
    return difference(made, mine, tensorflow.answer())


def is_meant(made: Pipeline) -> bool:
    """Whether an error that only tf.data has is one that we do not see, or have not.

    We do not compute what nobody gets: elements that are left out, fields that a later map drops, and nothing where there are no elements.
    Texts in batches are lists, and need not be of one length. So there is an error, or there are such lists or no elements, in the pipeline
    with nothing left out, or in the first verbs of it.
    """
    for expression in (made.ours, with_everything(made.ours)):
        verbs = expression.removesuffix(")").split("\n")
        for count in range(1, len(verbs) + 1):
            answer = ours("\n".join(verbs[:count]) + ")")
            if not answer.get("elements") or any(map(has_uneven_texts, answer["elements"])):
                return True
    return False


def can_be_made(expression: str) -> bool:
    """Whether the verbs alone raise nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(expression, dict(NAMES))
    except Exception:  # noqa: BLE001 -- whatever it raises is the answer
        return False
    return True


def with_everything(expression: str) -> str:
    """The same pipeline with nothing left out."""
    for dropped, by in {
        r"\.skip\(\d+\)": ".skip(0)",
        r"\.take\(\d+\)": ".take(1000)",
        r", drop_last=True": "",
        r"\.shard\([^)]*\)": ".skip(0)",
        r"shift=\d+, stride=\d+": "shift=1, stride=1",
    }.items():
        expression = re.sub(dropped, by, expression)
    return expression


def difference(made: Pipeline, a: dict[str, Any], b: dict[str, Any]) -> str:
    """Why the answers differ, or nothing."""
    if "crash" in b:
        return f"tf.data crashed: {b['crash']}"
    if "error" in a or "error" in b:
        if "error" in b and ("error" in a or is_meant(made)):
            return ""
        # We tell a mistake of shapes in the verb that makes it, whether or not elements come; theirs tells it of one that does.
        none_came = b.get("elements") == [] or re.match(
            r"\w+: unbatch: field .* rows, but another", a.get("error", "")
        )
        if "error" in a and "error" not in b and none_came and not can_be_made(made.ours):
            return ""
        if "expected equal shapes or a scalar" in a.get("error", ""):
            return ""  # theirs broadcasts
        return f"Headrace: {a.get('error', 'no error')}\ntf.data: {b.get('error', 'no error')}"
    mine, theirs = (
        [alike(element, made.element, made.ragged) for element in side["elements"]] for side in (a, b)
    )
    if len(mine) != len(theirs):
        return f"Headrace has {len(mine)} elements, tf.data {len(theirs)}"
    for at, (x, y) in enumerate(zip(mine, theirs, strict=True)):
        if x != y:
            return f"element {at}: Headrace {shown(x)}\n{' ' * (9 + len(str(at)))} tf.data  {shown(y)}"
    if a["cardinality"] not in {None, len(mine)}:
        return f"Headrace said {a['cardinality']} elements and had {len(mine)}"
    if a["cardinality"] is None and b["cardinality"] >= 0 and made.size is not None:
        return f"Headrace has no length, tf.data knows {b['cardinality']}"
    if a.get("by position", a["elements"]) != a["elements"]:
        return "Headrace has other elements by position than in iteration"
    return ""


def numbered(seed: int, index: int) -> Choices:
    """The choices of a pipeline by its number."""
    return Choices(rng=random.Random(f"{seed}/{index}"))


def check(tensorflow: TensorFlow, seed: int, index: int) -> Difference | None:
    """Compare a pipeline; of one that differs, the smallest found that still does."""
    choices = numbered(seed, index)
    made = pipeline(choices)
    why = compare(tensorflow, made)
    if not why:
        return None

    def kind(why: str) -> str:
        return " ".join(why.split()[:2])

    end = time.monotonic() + SHRINKING

    def fails(candidate: Sequence[int]) -> bool:
        return time.monotonic() < end and kind(compare(tensorflow, pipeline(Choices(candidate)))) == kind(why)

    def spans(candidate: Sequence[int]) -> list[tuple[int, int]]:
        replayed = Choices(candidate)
        pipeline(replayed)
        return replayed.spans

    smallest = shrunk(choices.used(), spans, fails)
    made = pipeline(Choices(smallest))
    return Difference(smallest, made, compare(tensorflow, made))
