"""What shuffles and caches hold in memory, measured in processes of their own; the figures are in docs/concepts.md.

HEADRACE_NIGHTLY=1 runs the epochs to their ends.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

FULL = os.environ.get("HEADRACE_NIGHTLY") == "1"
NOISE = 16  # MiB: threads' stacks, the interpreter's own


def grown(what: str, count: int | None = None) -> float:
    """MiB, as peak.py says them."""
    script = Path(__file__).with_name("peak.py")
    command = [sys.executable, "-W", "ignore", script, what, *([] if count is None else [str(count)])]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_shuffle_of_a_hundred_million_holds_nothing() -> None:
    assert grown("shuffle", None if FULL else 200) < NOISE


def test_a_window_shuffle_holds_its_window() -> None:
    window = 2000 * 64 / 1024
    assert window / 2 < grown("window", None if FULL else 3000) < 1.1 * window + NOISE


@pytest.mark.skipif(not FULL, reason="long")
def test_a_window_of_a_million_integers() -> None:
    assert grown("integers") < 300  # about 230 bytes an element beside what it holds


@pytest.mark.alone(ci=True)
def test_what_a_cache_in_files_finds_is_within_the_budget() -> None:
    assert grown("found") < 180  # of 300 MiB: 32 MB, and what filling it took


@pytest.mark.skipif(not FULL, reason="writes a gigabyte")
def test_a_cache_in_files_does_not_grow_with_them() -> None:
    assert grown("cache") < 300  # of 750 MiB
