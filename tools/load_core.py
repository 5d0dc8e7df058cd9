"""Load the compiled module headrace._core alone: the package around it may hold stale generated files."""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType


@functools.cache
def load_core() -> ModuleType:
    """Find headrace/_core on sys.path and load it under its full name."""
    for folder in map(Path, sys.path):
        for suffix in EXTENSION_SUFFIXES:
            path = folder / "headrace" / f"_core{suffix}"
            spec = importlib.util.spec_from_file_location("headrace._core", path) if path.is_file() else None
            if spec is None or spec.loader is None:
                continue
            module = importlib.util.module_from_spec(spec)
            sys.modules["headrace._core"] = module
            spec.loader.exec_module(module)
            return module
    sys.exit("headrace._core is not built: run `make build` first")
