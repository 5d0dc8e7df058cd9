"""What is known of a pipeline before it runs: how its elements nest, dtypes and shapes, how many there are at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

INTEGERS = ("int64", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64")
FLOATS = ("float32", "float64", "float16", "bfloat16")
NUMBERS = INTEGERS + FLOATS
TEXTS = ("bytes", "str")


@dataclass(frozen=True)
class Leaf:
    """A field. None in `shape` is a dimension that may differ from element to element."""

    dtype: str
    shape: tuple[int | None, ...] = ()

    @property
    def is_text(self) -> bool:
        return self.dtype in TEXTS


Tree: TypeAlias = "Leaf | dict[str, Any] | tuple[Any, ...]"


def leaves(tree: Any, path: str = "") -> list[tuple[str, Any]]:
    """The leaves with the subscripts that lead to them, as `["a"][0]`."""
    if isinstance(tree, dict):
        return [leaf for name, part in tree.items() for leaf in leaves(part, f'{path}["{name}"]')]
    if isinstance(tree, tuple):
        return [leaf for i, part in enumerate(tree) for leaf in leaves(part, f"{path}[{i}]")]
    return [(path, tree)]


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest with every leaf changed."""
    if isinstance(tree, dict):
        return {name: mapped(part, change) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(mapped(part, change) for part in tree)
    return change(tree)


def written(tree: Any) -> str:
    """The nest as Python code; its leaves are code already."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f'"{name}": {written(part)}' for name, part in tree.items()) + "}"
    if isinstance(tree, tuple):
        return "(" + ", ".join(map(written, tree)) + ("," if len(tree) == 1 else "") + ")"
    return str(tree)


def argument(tree: Any) -> str:
    """How tf.data gives an element to a function: a tuple as so many arguments, anything else as one."""
    return "*s" if isinstance(tree, tuple) else "s"


@dataclass(frozen=True)
class Pipeline:
    """A pipeline in both languages, as expressions, and what is known of it."""

    ours: str
    theirs: str  # with the free variable `epoch`
    element: Tree
    size: int | None  # None: not known before the run
    most: int  # elements, at the very most
    indexed: bool = True  # has random access
    shuffled: bool = False  # each epoch, so each pass of a repeat, has another order
    ragged: bool = False  # fields are lists of rows
    batched: int = 0  # how many batches deep
    deal: str = ""  # what the twin of a shard says, which is not said before the end of the segment
    sharded: bool = False

    def then(self, ours: str, theirs: str, **known: Any) -> Pipeline:
        """One more verb for each."""
        return replace(
            self, ours=self.ours + "\n    " + ours, theirs=self.theirs + "\n    " + theirs, **known
        )

    def around(self, ours: str, name: str, arguments: str, **known: Any) -> Pipeline:
        """One more verb, whose twin is a function of the dataset."""
        theirs = f"{name}(\n{self.theirs},\n    {arguments})"
        return replace(self, ours=self.ours + "\n    " + ours, theirs=theirs, **known)

    def with_sizes(self, change: Callable[[int], int], **known: Any) -> Pipeline:
        """The same with other numbers of elements."""
        return replace(
            self, size=None if self.size is None else change(self.size), most=change(self.most), **known
        )

    def settled(self) -> Pipeline:
        """With the shard dealt: where a segment ends."""
        return (
            replace(self, theirs=f"dealt(\n{self.theirs},\n    {self.deal})", deal="") if self.deal else self
        )
