"""The list of verbs, and what their entries use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import headrace as hr

from .choices import Choices
from .expressions import Field
from .kinds import Leaf, Pipeline, leaves

MOST = 60  # elements of one pipeline


@dataclass(frozen=True)
class Verb:
    """Whether it may follow a pipeline, and the pipeline with it."""

    name: str
    fits: Callable[[Pipeline], bool]
    add: Callable[[Pipeline, Choices], Pipeline]
    often: int
    orders: bool  # it works on the order only, so a shard may wait until after it


VERBS: list[Verb] = []


def verb(
    fits: Callable[[Pipeline], bool] = lambda p: True,
    often: int = 1,
    orders: bool = False,
    needs: tuple[str, ...] = (),
) -> Callable[[Callable[[Pipeline, Choices], Pipeline]], Callable[[Pipeline, Choices], Pipeline]]:
    """Register a verb: where it fits, how often it is drawn, whether it works on the order only, and the names that Headrace must have."""

    def register(add: Callable[[Pipeline, Choices], Pipeline]) -> Callable[[Pipeline, Choices], Pipeline]:
        if all(hasattr(hr, name) or hasattr(hr.Dataset, name) for name in needs):
            VERBS.append(Verb(add.__name__, fits, add, often, orders))
        return add

    return register


def fields_of(p: Pipeline) -> list[Field]:
    """What a function can work with: all fields, of a batch those without text."""
    fields = [(f"s{path}", leaf) for path, leaf in leaves(p.element)]
    return [] if p.ragged else [(x, leaf) for x, leaf in fields if not (leaf.is_text and leaf.shape)]


def decides(leaf: Leaf) -> bool:
    """Whether a predicate can be made of a field."""
    return not leaf.shape and not leaf.is_text


def can_be_made_anew(p: Pipeline) -> bool:
    """Whether more elements of this kind can be written out."""
    kinds = [leaf for _, leaf in leaves(p.element)]
    known = all(None not in leaf.shape and leaf.dtype != "bfloat16" for leaf in kinds)
    return known and not p.batched and not p.ragged and not any(leaf.is_text and leaf.shape for leaf in kinds)
