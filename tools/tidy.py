"""Run clang-tidy on C++ files.

    python tools/tidy.py [--all | FILE ...]

Without FILE those that changed lately (tools/changed.sh). The flags are those of build/release; the checks are in .clang-tidy.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = ROOT / "build/release/compile_commands.json"
CHECKED = re.compile(r"(headrace|cli|python/src)/.*\.cc$")
# What GCC knows and clang does not, and what belongs to a precompiled header.
DROPPED = re.compile(r"-Wno-|-fpch-|-include$|-Winvalid-pch$|-fno-fat-lto|.*cmake_pch")


def flags(name: str, commands: list[dict[str, str]]) -> list[str]:
    """Take the flags of any file of the same target: groups of files hide the files themselves."""
    target = (
        "headrace_cli"
        if name.startswith("cli/")
        else "_core.dir"
        if name.startswith("python/")
        else "headrace_core"
    )
    command = next(entry for entry in commands if f"/{target}" in f"/{entry.get('output', entry['command'])}")
    words = shlex.split(command["command"])
    kept = [word for word in words if word.startswith(("-I", "-D", "-std", "-isystem"))]
    paths = [words[i + 1] for i, word in enumerate(words) if word == "-isystem"]
    return [word for word in kept if word != "-isystem" and not DROPPED.match(word)] + [
        option for path in paths for option in ("-isystem", path)
    ]


def main() -> int:
    """Check the files and say how many there were."""
    arguments = sys.argv[1:]
    if arguments == ["--all"] or not arguments:
        listed = subprocess.run(
            [
                "git",
                "ls-files",
                "--cached",
                "--others",
                "--exclude-standard",
                "headrace",
                "cli",
                "python/src",
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        names = [
            name
            for name in listed.stdout.split()
            if CHECKED.fullmatch(name) and not name.endswith(("_test.cc", "SKELETON.cc"))
        ]
    if not arguments:
        changed = subprocess.run(
            [ROOT / "tools/changed.sh"], capture_output=True, text=True, check=True
        ).stdout.split()
        names = names if changed == ["everything"] else [name for name in names if name in set(changed)]
    elif arguments != ["--all"]:
        names = arguments
    commands = json.loads(COMMANDS.read_text(encoding="utf-8"))
    tidy = Path(sys.executable).with_name("clang-tidy")

    def check(name: str) -> str:
        command = [str(tidy), "--quiet", name, "--", *flags(name, commands)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return (
            (done.stdout + done.stderr or f"{name}: clang-tidy ended with {done.returncode}")
            if done.returncode
            else ""
        )

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(check, names):
            if text:
                print(text)
                failed += 1
    print(f"clang-tidy: {len(names)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
