"""What Grain makes of pipelines: expressions in, lengths and elements by position out, as JSON; in an interpreter that has Grain.

    python tests/oracle/grain_says.py < expressions.json > answers.json

Run by test_grain.py, on what it wrote; nothing here knows of Headrace.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import grain
import numpy as np


def answer(expression: str) -> dict[str, Any]:
    dataset = eval(expression, {"MapDataset": grain.MapDataset, "np": np})
    return {
        "length": len(dataset),
        "elements": [np.asarray(dataset[i]).tolist() for i in range(len(dataset))],
    }


if __name__ == "__main__":
    json.dump([answer(expression) for expression in json.load(sys.stdin)], sys.stdout)
