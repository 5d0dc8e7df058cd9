"""Slots: what a saved plan cannot hold — functions, arrays, generators — under the names that `load_plan(bind=…)` wants.

A dataset knows what it binds as a list in the order of its plan: what stands above a verb before the verb, branch after branch. Branches
that were built apart may give one name to different things; in a plan the second of them is then "keys#2", the third "keys#3".
Fingerprints leave out what follows the #.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Bound = list[tuple[str, Any]]  # name and thing of each place in a plan that has a slot


def names_of(bound: Sequence[tuple[str, Any]]) -> list[str]:
    """Return a name for each place: one thing has one name, and different things have different ones."""
    known: dict[str, dict[int, int]] = {}  # for each name, what has it and which in a row that is
    names = []
    for name, thing in bound:
        things = known.setdefault(name, {})
        at = things.setdefault(id(thing), len(things))
        names.append(name if at == 0 else f"{name}#{at + 1}")
    return names


def with_names(plan: str, names: Sequence[str]) -> str:
    """Return a plan's text with other names for its slots."""
    value = json.loads(plan)
    for (holder, _), name in zip(_places(value["plan"]), names, strict=True):
        holder["slot"] = name
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def slots_in(tree: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give for each place the name of its slot, its kind and what is said of it.

    The kind is "source", "generator" or "function"; or "keys", "weights" or "choices": numbers beside data.
    """
    for holder, kind in _places(tree):
        yield holder["slot"], kind, holder


def bound_in(tree: Any, bind: Mapping[str, Any]) -> Bound:
    """Return what is bound to each place of a plan; names lose what follows a #."""
    return [(slot.partition("#")[0], bind[slot]) for slot, _, _ in slots_in(tree)]


BESIDE = {"sort_by": "keys", "sample": "weights", "choose": "choices"}  # what the last input of a verb is


def _places(node: Any, role: str = "source") -> Iterator[tuple[dict[str, Any], str]]:
    if not isinstance(node, dict):
        return
    inputs = node.get("inputs")
    below = [node.get("input"), *(inputs if isinstance(inputs, list) else [])]
    for number, input_node in enumerate(below, 1):
        is_last = number == len(below)
        yield from _places(input_node, BESIDE.get(str(node.get("verb")), "source") if is_last else "source")
    program = node.get("program")
    steps = program.get("steps") if isinstance(program, dict) else None
    functions = (
        [step.get("params") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    )
    holders = [(node.get("source"), role), (node.get("generator"), "generator")]
    for holder, kind in [*holders, *((params, "function") for params in functions)]:
        if isinstance(holder, dict) and isinstance(holder.get("slot"), str):
            yield holder, kind
