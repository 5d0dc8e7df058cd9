"""The pages of docs/ do what they say: their blocks run, in order, on generated photographs.

```python          run; `python torch` where PyTorch is installed
```pycon           a session at the prompt, whose output must be as shown; "..." stands for anything
```sh              run by bash, where the command line is built
```cpp PATH        the text of that file or a part of it
"""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("PIL.Image")

ROOT = Path(__file__).parents[2]
COMMAND_LINE = Path(os.environ.get("HEADRACE_CLI", ROOT / "build" / "release" / "cli" / "headrace"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    """The fenced blocks of a page: line of the first line, language, what follows it, text."""
    text = page.read_text()
    return [(text.count("\n", 0, m.start()) + 2, m[1], m[2].strip(), m[3]) for m in BLOCK.finditer(text)]


def pages(*languages):
    """The pages with a block in one of these languages."""
    return [
        pytest.param(page, id=page.stem)
        for page in sorted((ROOT / "docs").glob("*.md"))
        if any(language in languages for _, language, _, _ in blocks(page))
    ]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    make = [sys.executable, ROOT / "tools" / "make_demo_data.py", "--count", "60", "--out", folder / "photos"]
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    return folder / "photos"


@pytest.fixture
def folder(photos, tmp_path, monkeypatch):
    """What the reader stands in: the checkout's tools, and the photographs."""
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    (tmp_path / "photos").symlink_to(photos)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_python(page, line, text, names):
    exec(compile("\n" * (line - 1) + text, str(page), "exec"), names)


def run_prompt(page, line, text, names):
    session = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line - 1)
    said = []
    options = doctest.ELLIPSIS | doctest.REPORT_NDIFF
    doctest.DocTestRunner(optionflags=options).run(session, out=said.append, clear_globs=False)
    names.update(session.globs)
    assert not said, "".join(said)


def run_shell(page, line, text):
    path = os.pathsep.join([str(Path(sys.executable).parent), str(COMMAND_LINE.parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"{page.name}:{line}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", pages("python", "pycon", "sh"))
def test_the_blocks_of_a_page_run_in_order(page, folder):
    names = {"__name__": page.stem}
    for line, language, more, text in blocks(page):
        if language == "python" and not (more == "torch" and not has_torch()):
            run_python(page, line, text, names)
        elif language == "pycon":
            run_prompt(page, line, text, names)
        elif language == "sh" and COMMAND_LINE.is_file():
            run_shell(page, line, text)


@pytest.mark.parametrize("page", pages("cpp"))
def test_code_in_cpp_is_that_of_a_file_that_is_compiled(page):
    for line, language, path, text in blocks(page):
        if language == "cpp" and path:
            assert text in (ROOT / path).read_text(), f"{page.name}:{line}: {path} says something else"


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))], ids=str
)
def test_links_lead_somewhere(page):
    prose = BLOCK.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        assert "://" in target or (page.parent / target).exists(), target


def has_torch():
    try:
        import torch  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True
