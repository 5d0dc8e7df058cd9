"""Elements that are copied to a CUDA device one ahead of the one that is handed out."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core
from .loader import Iteration, Loader, State


class AheadIteration(Iteration[Any]):
    """Copies the next element to the device before the current one is returned."""

    def __init__(self, loader: Loader[Any], stream: torch.cuda.Stream):
        super().__init__(loader)
        self._stream = stream
        self._begun = False
        self._ahead: tuple[Any, State] | None = None  # an element, and the state after it is handed out
        self._given: list[State] = [
            loader._core.save()
        ]  # the state of what was handed out; shared with the loader
        loader._left_at = self._given
        self._at_end: State | None = None
        self._failure: Exception | None = None  # of the next element
        self._has_said_end = False

    def _copy_next(self) -> tuple[Any, State] | None:
        loader = self._loader
        if loader is None:
            _core.give_way_to_exit()  # which may have closed it
            return None
        try:
            with torch.cuda.stream(self._stream):
                element = super().__next__()
            return element, loader._core.save()
        except StopIteration:
            self._at_end = loader._core.save()
            return None
        except BaseException:
            if not loader._core.is_within:
                self._end(None)  # else an element that arrived but is not stored here would be lost
            raise

    def __next__(self) -> Any:
        if not self._begun:
            self._begun, self._ahead = True, self._copy_next()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self._raise_if_ended()
        if self._ahead is None:
            if self._at_end is not None and self._loader is None:
                self._given[0] = self._at_end
            self._has_said_end = True
            raise StopIteration
        element, state = self._ahead
        torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
        _used_on(element, torch.cuda.current_stream(self._stream.device))
        try:
            self._ahead = self._copy_next()
        except Exception as error:  # noqa: BLE001 -- of the next element: raised when its turn comes
            self._ahead, self._failure = None, error
        self._given[0] = state  # last, so that an exception before loses no element
        return element

    def _is_over(self) -> bool:
        return super()._is_over() and (self._has_said_end or self._ended_by is not None)

    def state_dict(self) -> State:
        """Return the position of this iteration; the element that was copied ahead does not count."""
        return dict(self._given[0])

    def _saved(self, loader: Loader[Any]) -> State:
        return self._given[0]


def _used_on(element: Any, stream: torch.cuda.Stream) -> None:
    if isinstance(element, torch.Tensor):
        if element.is_cuda:
            element.record_stream(stream)
    elif isinstance(element, dict):
        for value in element.values():
            _used_on(value, stream)
    elif isinstance(element, (list, tuple)):
        for value in element:
            _used_on(value, stream)
