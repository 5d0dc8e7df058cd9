"""A page as a browser draws it, at several widths: what it says, what it complains of, and which labels touch.

All pages of a call are frames of one document, so that the browser starts once."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")

# First in the page: what goes wrong later is kept.
_LISTEN = """<script>
window.wrong = [];
addEventListener("error", (event) => wrong.push(event.message || "cannot load " + event.target.src), true);
addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
for (const level of ["error", "warn"]) console[level] = (...words) => wrong.push(words.join(" "));
document.addEventListener("securitypolicyviolation", (event) => wrong.push("loads " + event.blockedURI));
</script>
<meta http-equiv="Content-Security-Policy" content="default-src 'unsafe-inline' data:">
"""

# Last: looks at what was drawn, and again with the pointer on each chart that answers to it.
_LOOK = """<script>
const trouble = [];
let num_labels = 0;
function measure(when) {
  const wide = document.documentElement.clientWidth, labels = [];
  for (const one of document.querySelectorAll("svg text, figcaption")) {
    const box = one.getBoundingClientRect(), words = one.textContent.trim() + when;
    if (one.textContent.trim() === "" || getComputedStyle(one).visibility === "hidden") continue;
    if (box.width < 1 || box.height < 1) trouble.push(`"${words}" has no size`);
    const frame = one.closest("svg, figure").getBoundingClientRect();
    if (box.left < -0.5 || box.right > wide + 0.5) trouble.push(`"${words}" is cut off at the page's edge`);
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
      trouble.push(`"${words}" sticks out of its picture`);
    labels.push({ words, box });
  }
  for (let i = 0; i < labels.length; ++i)
    for (let j = 0; j < i; ++j) {
      const a = labels[i].box, b = labels[j].box;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 0.5 && down > 2) trouble.push(`"${labels[j].words}" and "${labels[i].words}" overlap`);
    }
  if (document.documentElement.scrollWidth > wide) trouble.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const one of document.querySelectorAll(".scroll"))
    if (one.scrollWidth > one.clientWidth) trouble.push(`a table is ${one.scrollWidth} wide, its place ${one.clientWidth}`);
  num_labels = labels.length;
}
addEventListener("load", () => setTimeout(() => {
  measure("");
  const drawn = document.documentElement.cloneNode(true);
  for (const one of drawn.querySelectorAll("script, style, noscript")) one.remove();
  const pictures = [...document.images].map((one) => ({ alt: one.alt, loaded: one.complete && one.naturalWidth > 0,
    wide: one.getBoundingClientRect().width, caption: one.closest("figure")?.querySelector("figcaption")?.innerText || "" }));
  const found = { words: document.body.innerText, markup: drawn.outerHTML, labels: num_labels, pictures,
    headings: [...document.querySelectorAll("h2, h3")].map((one) => one.textContent), scripts: document.scripts.length };
  for (const one of document.querySelectorAll('rect[fill="transparent"]')) {
    const box = one.getBoundingClientRect();
    one.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 0.9 * box.width, clientY: box.top + 40 }));
    measure(", pointed at");
  }
  found.pointed_at = [...document.querySelectorAll("svg text")].map((one) => one.textContent);
  parent.postMessage([window.name, { ...found, wrong, trouble }], "*");
}, 20));
</script>
"""

_FRAMES = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const all = {}, pages = %s;
addEventListener("message", (event) => {
  all[event.data[0]] = event.data[1];
  if (Object.keys(all).length < pages.length) return;
  const out = document.createElement("pre");
  out.textContent = JSON.stringify(all);
  document.body.replaceChildren(out);
});
for (const [name, url, width] of pages) {
  const frame = document.createElement("iframe");
  frame.name = name, frame.src = url, frame.width = width, frame.height = 900, frame.style.border = 0;
  document.body.append(frame);
}
</script>
"""


@cache
def browser() -> str | None:
    """Return the browser to start, or None; a stub that only says how to install one is none."""
    for name in NAMES:
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], check=False, capture_output=True).returncode == 0:
            return path
    return None


def start(page: Path, *arguments: str) -> str:
    """Open a page, wait until its scripts are done, and return what the browser prints."""
    path = browser()
    assert path is not None
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        options += [
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
        ]
        done = subprocess.run(
            [path, *options, "--virtual-time-budget=4000", *arguments, page.resolve().as_uri()],
            check=False,
            capture_output=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout.decode()


def look_at(pages: dict[str, Path], widths: tuple[int, ...]) -> dict[str, dict[int, dict]]:
    """Draw each page at each width, in CSS pixels.

    Returns:
        Page to width to a dict: `words` a reader sees, `markup` after all scripts, `headings`, `labels` in pictures (their number),
        `pictures`, `pointed_at` (labels with the pointer on a chart), `wrong` (what the page's scripts complained of, or what it wanted to load), and `trouble`: labels that overlap
        or are cut off, things that are wider than their place.
    """
    with tempfile.TemporaryDirectory() as folder:
        frames = []
        for name, page in pages.items():
            text = page.read_text(encoding="utf-8")
            watched = re.sub(r'(<meta charset="utf-8">)', lambda tag: tag[1] + _LISTEN, text, count=1)
            assert watched != text, "a page begins with its charset"
            copy = Path(folder) / f"{len(frames)}.html"
            copy.write_text(watched + _LOOK, encoding="utf-8")
            frames += [(f"{name} {width}", copy.name, width) for width in widths]
        outer = Path(folder) / "frames.html"
        outer.write_text(_FRAMES % json.dumps(frames), encoding="utf-8")
        printed = start(outer, f"--window-size={max(widths) + 50},1000", "--dump-dom")
    found = re.search(r"<pre>(.*)</pre>", printed, re.DOTALL)
    assert found, f"not all pages answered: {printed[-2000:]}"
    seen = json.loads(html.unescape(found[1]))
    return {name: {width: seen[f"{name} {width}"] for width in widths} for name in pages}


def picture_of(page: Path, out: Path, *, width: int, height: int, dark: bool) -> Path:
    """Save what the page looks like as a PNG."""
    scheme = 0 if dark else 1
    start(
        page,
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--window-size={width},{height}",
        f"--screenshot={out}",
    )
    return out
