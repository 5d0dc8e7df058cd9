"""Random pipelines hold what tf.data's hold, value for value; docs/differences-from-tf-data.md has what is meant to differ.

TensorFlow may live in another environment: HEADRACE_TENSORFLOW_PYTHON names its interpreter, and `make oracle` makes one. A pipeline that differs
is shrunk and printed as code for both; `python -m tests.oracle.pipelines --seed S --index I` finds it again.
"""

from __future__ import annotations

import base64
import importlib.util
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from .choices import Choices, shrunk
from .compare import TensorFlow, check, compare, numbered, ours
from .generate import pipeline
from .kinds import Leaf, Pipeline
from .registry import VERBS
from .told import alike, told

PYTHON = os.environ.get("HEADRACE_TENSORFLOW_PYTHON") or (
    sys.executable if importlib.util.find_spec("tensorflow") else ""
)
SEED = int(os.environ.get("HEADRACE_ORACLE_SEED", "1"))
PIPELINES = int(os.environ.get("HEADRACE_ORACLE_PIPELINES", "300"))
NOTHING = "no TensorFlow, and HEADRACE_TENSORFLOW_PYTHON names none"


@pytest.fixture(scope="module")
def tensorflow() -> Iterator[TensorFlow]:
    if not PYTHON:
        pytest.skip(NOTHING)
    with TensorFlow(PYTHON) as answers:
        yield answers


def test_random_pipelines_hold_what_those_of_tf_data_hold(tensorflow: TensorFlow) -> None:
    found = (check(tensorflow, SEED, index) for index in range(PIPELINES))
    for index, wrong in enumerate(found):
        assert wrong is None, f"seed {SEED}, index {index}: {wrong.text()}"


WRONG_TWINS = {
    "another value": ("hr.range(3)", "tf.data.Dataset.range(1, 4)", "element 0: Headrace int64 0"),
    "another dtype": (
        "hr.range(1)",
        "tf.data.Dataset.from_tensor_slices(np.zeros(1, np.int32))",
        "tf.data  int32 0",
    ),
    "one more": ("hr.range(3)", "tf.data.Dataset.range(4)", "Headrace has 3 elements, tf.data 4"),
    "an error here": ("hr.range(3).nothing()", "tf.data.Dataset.range(3)", "tf.data: no error"),
    "an error there": ("hr.range(3)", "tf.data.Dataset.range(3).nothing()", "Headrace: no error"),
}


@pytest.mark.parametrize("wrong", WRONG_TWINS)
def test_the_comparison_sees(wrong: str, tensorflow: TensorFlow) -> None:
    mine, theirs, why = WRONG_TWINS[wrong]
    assert why in compare(tensorflow, Pipeline(mine, theirs, Leaf("int64"), 3, 3))


def test_a_crash_there_is_an_answer(tensorflow: TensorFlow) -> None:
    crash = Pipeline("hr.range(3)", "__import__('os').abort()", Leaf("int64"), 3, 3)
    assert "crashed" in compare(tensorflow, crash)
    assert compare(tensorflow, replace(crash, theirs="tf.data.Dataset.range(3)")) == ""


def test_every_verb_is_drawn_and_most_pipelines_hold_something() -> None:
    made = [pipeline(numbered(SEED, index)) for index in range(300)]
    words = Counter(word for p in made for word in set(re.findall(r"\n    \.(\w+)", p.ours)))
    by_another_name = {"shuffle_in_window", "map_in_python", "ragged_batch", "choose", "interleave"}
    names = {verb.name for verb in VERBS} - by_another_name
    assert min(words[name] for name in names) >= 5, words
    answers = [ours(p.ours) for p in made]
    assert sum(bool(answer.get("elements")) for answer in answers) > 130
    assert 5 < sum("error" in answer for answer in answers) < 60


def test_a_pipeline_is_found_again_by_its_choices() -> None:
    for index in range(50):
        choices = numbered(SEED, index)
        made = pipeline(choices)
        assert pipeline(numbered(SEED, index)) == made
        assert pipeline(Choices(choices.used())) == made


def test_shrinking_keeps_only_what_is_needed() -> None:
    def spans(made: list[int]) -> list[tuple[int, int]]:
        return [(at, at + 3) for at in range(0, len(made) - 2, 3)]

    start = [random.Random(3).randrange(100) for _ in range(30)]
    start[12] = 90
    assert shrunk(start, spans, lambda made: any(number >= 60 for number in made)) == [60]  # type: ignore[arg-type]


def test_what_is_told_is_alike_where_it_is_meant_to_be() -> None:
    two_nans = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    (_, _, held) = alike(told(two_nans), Leaf("float32"), ragged=False)
    assert len(set(np.frombuffer(base64.b64decode(held), np.uint32).tolist())) == 1
    batches = [["a", "b"], ["c", "d"]]
    assert alike(told(batches), Leaf("str"), ragged=False) == told(np.array(batches, object))
    rows = [np.int64(1), np.int64(2)]
    assert alike(told(rows), Leaf("int64"), ragged=True) == alike(
        told(np.array(rows)), Leaf("int64"), ragged=True
    )
