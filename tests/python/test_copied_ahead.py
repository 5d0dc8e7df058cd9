"""The state of a loader that copies the next element to a device ahead: without a device, and without PyTorch."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A module that stands for PyTorch where it is not installed; its streams do nothing.
STUB = """
import contextlib, sys, types

try:
    import torch
except ImportError:
    torch = sys.modules["torch"] = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, Stream=object)
    torch.Tensor = type("Tensor", (), {})
torch.cuda.stream = lambda stream: contextlib.nullcontext()
torch.cuda.current_stream = lambda device: Stream()

class Stream:
    device = "cuda:0"
    def wait_stream(self, other): pass

import headrace as hr
from headrace.loaders import ahead as loaders
from headrace.loaders.loader import Loader

if not hasattr(torch, "__version__"):
    del sys.modules["torch"]  # nobody else takes it for PyTorch

class Ahead(Loader):
    def _make_iteration(self):
        return loaders.AheadIteration(self, Stream())

data = hr.range(100).batch(10)
if len(sys.argv) > 1:  # a stream: its length is not known
    data = hr.range(200).filter(lambda x: x % 2 == 0).batch(10)
expected = [int(batch[0]) for batch in data]

def rest(state):
    loader = Ahead(data)
    loader.load_state_dict(state)
    return [int(batch[0]) for batch in loader]

"""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "leaves",
    [
        """
for batch in loader:
    got.append(int(batch[0]))
    if len(got) == 4: break
""",
        """
def train():
    for batch in loader:
        got.append(int(batch[0]))
        if len(got) == 4: raise KeyboardInterrupt
try:
    train()
except KeyboardInterrupt:
    pass
""",
        """
iteration = iter(loader)
while len(got) < 4: got.append(int(next(iteration)[0]))
loader.close()
for _ in range(2):
    try:
        next(iteration)
        raise SystemExit("it went on")
    except RuntimeError as error:
        assert "ended by close()" in str(error), error
""",
        """
got = [int(batch[0]) for batch in loader]
assert loader.state_dict().get("finished"), loader.state_dict()
""",
        """
iteration = iter(loader)
for epoch in (0, 7, 1, 0):
    got.append(int(next(iteration)[0]))
    loader.set_epoch(epoch)
assert loader.epoch == 0 and loader.state_dict() == iteration.state_dict()
for batch in iteration:
    got.append(int(batch[0]))
    loader.set_epoch(0)
assert next(iteration, None) is None
assert loader.epoch == 1 and loader.state_dict().get("finished")
""",
    ],
    ids=["break", "Ctrl-C", "close", "to the end", "set_epoch"],
)
def test_the_state_is_of_what_was_handed_out(leaves: str, stream: bool) -> None:
    check = """
state = loader.state_dict()
if len(got) < len(expected):
    assert got + rest(state) == expected, (got, state)
for batch in loader:
    assert int(batch[0]) == 0, "the next epoch"
    break
assert loader.state_dict()["epoch"] == 1
loader.close()
loader.set_epoch(5)
assert loader.state_dict()["epoch"] == 5
"""
    code = STUB + "loader, got = Ahead(data), []\n" + leaves + check
    subprocess.run([sys.executable, "-c", code, *["stream"] * stream], check=True)
