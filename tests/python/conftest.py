"""Small data that the tests make for themselves."""

import contextlib
import faulthandler
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from .pictures import picture

LOCAL = ("ext2/ext3", "xfs", "btrfs", "f2fs", "tmpfs")


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's cache folder is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@contextlib.contextmanager
def _somebody_handles_signals(handles: bool) -> Iterator[None]:
    def set_handler(is_wanted: bool) -> None:
        faulthandler.enable(file=sys.__stderr__) if is_wanted else faulthandler.disable()

    was_on = faulthandler.is_enabled()
    set_handler(handles)
    yield
    set_handler(was_on)


@pytest.fixture
def maps_of_files(tmp_path: Path) -> Iterator[None]:
    """Files can be mapped: nobody handles the signal that a map may cause (decision 12)."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True)
    if kind.stdout.strip() not in LOCAL:
        pytest.skip(f"files on {kind.stdout.strip()} are not mapped")
    with _somebody_handles_signals(False):
        yield


@pytest.fixture
def no_maps_of_files() -> Iterator[None]:
    """Files are read: somebody handles that signal."""
    with _somebody_handles_signals(True):
        yield


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of six JPEGs of different sizes."""
    for label, name in enumerate(["cat", "dog"]):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        for i in range(6):
            Image.fromarray(picture(label * 6 + i, 24 + i, 32 + 2 * i)).save(folder / f"{i}.jpg", quality=90)
    return tmp_path / "photos"


def pytest_configure(config):
    # Tests make many loaders of one pipeline; the one that is about this warning asks for it.
    config.addinivalue_line("filterwarnings", "ignore:a second loader")
    # A shell starts what it sends to the background with Ctrl-C ignored, and children would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
