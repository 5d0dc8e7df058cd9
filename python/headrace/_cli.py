"""The `headrace` command: hands over to the C++ executable that lies beside the compiled module."""

import importlib.util
import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Replace this process by the `headrace` executable, with the same arguments."""
    # The executable stands next to _core, which an editable install keeps apart from the Python files.
    module = importlib.util.find_spec("headrace._core")
    if module is None or module.origin is None:
        sys.exit("headrace: the compiled module is missing; build it with `make build` or `pip install .`")
    executable = Path(module.origin).parent / "bin" / "headrace"
    if not executable.is_file():
        sys.exit(f"headrace: the command line was not built: {executable} is missing")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and who is executed would inherit that
    os.execv(executable, ["headrace", *sys.argv[1:]])
