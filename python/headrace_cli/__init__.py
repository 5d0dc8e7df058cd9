"""The `headrace` command: hands over to the C++ executable that lies in the package.

A package of its own, for whatever lies in `headrace` imports it first, NumPy and all, which takes ten times as long as the
command itself.
"""

import importlib.util
import os
import signal
import sys


def main() -> None:
    """Replace this process by the `headrace` executable, with the same arguments."""
    # An editable install keeps what is compiled apart from the Python files: the package lies in several folders.
    package = importlib.util.find_spec("headrace")
    folders = package.submodule_search_locations if package else None
    programs = [os.path.join(folder, "bin", "headrace") for folder in folders or ()]  # noqa: PTH118  pathlib takes as long
    program = next(filter(os.path.isfile, programs), None)
    if program is None:
        sys.exit(
            "headrace: the command line was not built; build it with `make build` or `pip install .`"
            + (f" (it would be one of {programs})" if programs else "")
        )
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and who is executed would inherit that
    os.execv(program, ["headrace", *sys.argv[1:]])
