"""The `headrace` command: runs the C++ executable in the package.

A separate package, since a module in `headrace` would import that package first, with NumPy, which takes ten times as long as the
command itself.
"""

import importlib.util
import os
import signal
import sys


def main() -> None:
    """Replace this process by the `headrace` executable, with the same arguments."""
    # In an editable install the package has several folders: compiled files are separate from Python files.
    package = importlib.util.find_spec("headrace")
    folders = package.submodule_search_locations if package else None
    programs = [os.path.join(folder, "bin", "headrace") for folder in folders or ()]  # noqa: PTH118  pathlib takes as long
    program = next(filter(os.path.isfile, programs), None)
    if program is None:
        sys.exit(
            "headrace: the command line is not built; build it with `make build` or `pip install .`"
            + (f" (expected at one of {programs})" if programs else "")
        )
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the executable would inherit that
    os.execv(program, ["headrace", *sys.argv[1:]])
