"""`map(f, python="processes")`: start the processes that call `f`, and re-raise its exceptions.

Each process is a new interpreter: nothing is forked, so it is not affected by locks, threads and CUDA of this one. It gets a socket
and anonymous shared memory, and lives as long as the socket. The function is sent by pickle. A function of the main script is
imported from that script again, as `multiprocessing` does with "spawn"; if cloudpickle is installed, it is sent by value instead,
which also works for lambdas and functions of a notebook.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from multiprocessing import spawn
from pathlib import Path
from typing import Any


class _Here:
    """This process."""

    importing_main = False  # true in a process of a map while it imports the main script


class RemoteTraceback(Exception):  # noqa: N818 -- shown as a cause, not meant to be caught
    """The traceback of an exception in another process; the cause of the same exception here."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class Starter:
    """Starts processes for a function: a call returns the process, this side's socket and the shared memory."""

    def __init__(self, verb: str, function: Callable[..., Any], job: dict[str, Any]):
        self._function = _pickled(verb, function)
        self._job = job
        needs_main = self._function.is_by_name and getattr(function, "__module__", None) == "__main__"
        self._main = _main_script(verb, function) if needs_main else None

    def __call__(self) -> tuple[subprocess.Popen[bytes], int, int]:
        if _Here.importing_main:
            raise RuntimeError(
                'the main script starts processes while it is imported by one of them; put its code under `if __name__ == "__main__":`'
            )
        job = {**self._job, "path": sys.path, "main": self._main, "function": self._function.data}
        data = pickle.dumps(job)
        memory = os.memfd_create("headrace", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(
            memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        )  # both sides map it: it may only grow
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), str(memory)],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), memory),
            )
            with contextlib.suppress(OSError):  # the process ended: the first call reports how
                ours.sendall(len(data).to_bytes(8, "little") + data)
            return process, ours.detach(), memory


def _main_script(verb: str, function: Callable[..., Any]) -> dict[str, Any]:
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is None and not Path(getattr(main, "__file__", None) or "").is_file():
        raise TypeError(
            f'{verb}: python="processes" needs a function that other processes can import, but '
            f"{getattr(function, '__qualname__', function)!r} is not defined in a file (python -c, standard input, a notebook or the "
            "prompt); define it in a module, or install cloudpickle"
        )
    data = spawn.get_preparation_data("headrace")
    return {key: value for key, value in data.items() if key != "authkey"}  # must not leave this process


_PROGRAM = "import sys; from headrace._processes import main; main(int(sys.argv[1]), int(sys.argv[2]))"


class _Pickled:
    def __init__(self, data: bytes, is_by_name: bool):
        self.data, self.is_by_name = data, is_by_name


def _pickled(verb: str, function: Callable[..., Any]) -> _Pickled:
    try:
        by_value = importlib.import_module("cloudpickle")
    except ImportError:
        by_value = None
    try:
        if by_value is not None:
            return _Pickled(by_value.dumps(function), is_by_name=False)
        return _Pickled(pickle.dumps(function), is_by_name=True)
    except Exception as error:
        hint = "" if by_value is not None else ", or install cloudpickle"
        raise TypeError(
            f'{verb}: python="processes" sends the function to other processes, but it cannot be pickled ({error}); '
            f"define it at the top level of a module{hint}"
        ) from error


def how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """Return why a process ended."""
    try:
        code = process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        return "it closed its socket"
    if code < 0:
        return f"killed by signal {-code}, {signal.Signals(-code).name}"
    return f"exit status {code}"


def raise_again(data: bytes) -> None:
    """Raise an exception serialised by `describe`."""
    pickled, text = pickle.loads(data)
    try:
        error = pickle.loads(pickled)
    except Exception:  # noqa: BLE001 -- its class may only exist in the other process
        error = RuntimeError(text.strip().splitlines()[-1])
    error.__cause__ = RemoteTraceback(text)
    raise error


def describe(error: BaseException) -> bytes:
    """Return an exception with its traceback as bytes."""
    text = "".join(traceback.format_exception(error))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:  # noqa: BLE001 -- its class may do anything
        pickled = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return pickle.dumps((pickled, text))


def main(end: int, memory: int) -> None:
    """Run as a process of a map: read the job, then answer calls until the socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    link = socket.socket(fileno=end)
    with link.makefile("rb", buffering=0) as stream:
        size = int.from_bytes(_exactly(stream, 8), "little")
        job = pickle.loads(_exactly(stream, size))
    sys.path[:] = job["path"]
    function: Any = None
    failure: BaseException | None = None
    try:
        if job["main"] is not None:
            _Here.importing_main = True
            spawn.prepare(job["main"])
            _Here.importing_main = False
        function = pickle.loads(job["function"])
    except BaseException as error:  # noqa: BLE001 -- raised by the first call
        failure = error

    def fails(*_: Any, **__: Any) -> Any:
        raise failure  # type: ignore[misc]

    from . import _core  # noqa: PLC0415 -- _function needs this module
    from ._function import converter  # noqa: PLC0415

    _core.serve(
        link.fileno(),
        memory,
        fails if failure is not None else function,
        converter(job["output"], job["outputs"]),
        job["input"],
        job["output"],
        job["outputs"],
        job["random"],
        describe,
    )


def _exactly(stream: Any, size: int) -> bytes:
    out = bytearray()
    while len(out) < size:
        piece = stream.read(size - len(out))
        if not piece:
            sys.exit(0)  # the parent process is gone
        out += piece
    return bytes(out)
