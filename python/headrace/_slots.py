"""Slots: names for what a saved plan cannot contain (functions, arrays, generators), as used in `load_plan(bind=…)`.

A dataset keeps a list of what it binds, in the order of its plan: inputs before the verbs that use them, branch after branch.
Branches that were built separately may use one name for different things; in a plan, the second is then "keys#2", the third "keys#3".
Fingerprints ignore the # and what follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Bound = list[tuple[str, Any]]  # name and value of each slot in a plan


def names_of(bound: Sequence[tuple[str, Any]]) -> list[str]:
    """Return a name for each slot: the same value gets the same name, and different values get different names."""
    known: dict[str, dict[int, int]] = {}  # for each name, the values that use it, by id, with their ordinals
    names = []
    for name, thing in bound:
        things = known.setdefault(name, {})
        at = things.setdefault(id(thing), len(things))
        names.append(name if at == 0 else f"{name}#{at + 1}")
    return names


def with_names(plan: str, names: Sequence[str]) -> str:
    """Return the text of a plan with these names for its slots."""
    value = json.loads(plan)
    for (holder, _), name in zip(_places(value["plan"]), names, strict=True):
        holder["slot"] = name
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def slots_in(tree: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, kind and description of each slot.

    The kind is "source", "generator", "order" or "function"; or "keys", "weights" or "choices": numbers alongside the data.
    """
    for holder, kind in _places(tree):
        yield holder["slot"], kind, holder


def bound_in(tree: Any, bind: Mapping[str, Any]) -> Bound:
    """Return what is bound to each slot of a plan; names are cut at a #."""
    return [(slot.partition("#")[0], bind[slot]) for slot, _, _ in slots_in(tree)]


BESIDE = {
    "sort_by": "keys",
    "sample": "weights",
    "choose": "choices",
    "select": "indices",
}  # the kind of a verb's last input


def input_at(tree: Any, place: Sequence[int]) -> Any:
    """Return the part of a plan to which these numbers of inputs lead."""
    for number in place:
        tree = tree["inputs"][number] if "inputs" in tree else tree["input"]
    return tree


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
    holders = [(node.get("source"), role), (node.get("generator"), "generator"), (node.get("order"), "order")]
    for holder, kind in [*holders, *((params, "function") for params in functions)]:
        if isinstance(holder, dict) and isinstance(holder.get("slot"), str):
            yield holder, kind
