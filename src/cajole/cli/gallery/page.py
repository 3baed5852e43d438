"""The page of the demo: one HTML file that holds its pictures, with nothing to load from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import cajole

MIME_TYPES = {".webp": "image/webp", ".jpg": "image/jpeg"}
# of the little plots, in their own units
PLOT_WIDTH, PLOT_HEIGHT = 240, 44

STYLESHEET = """
:root { color-scheme: light dark;
  --paper:#f6f4ef; --card:#fff; --ink:#1d2126; --soft:#5d6670; --line:#e3dfd6; --mark:#c8432b; }
@media (prefers-color-scheme: dark) {
  :root { --paper:#14171a; --card:#1d2226; --ink:#eceae5; --soft:#9aa4ad; --line:#2d343a; --mark:#ff8464; } }
* { box-sizing: border-box; margin: 0; }
body { background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
  padding: clamp(1.2rem, 4vw, 3.5rem); }
header, main, footer { max-width: 78rem; margin-inline: auto; }
h1 { font-size: clamp(2rem, 5vw, 3.2rem); letter-spacing: -.03em; line-height: 1.1; }
header p { max-width: 42rem; color: var(--soft); font-size: 1.1rem; margin: .6rem 0 2rem; }
main { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
article { background: var(--card); border: 1px solid var(--line); border-radius: 16px; overflow: hidden; display: flex;
  flex-direction: column; }
.view { display: block; aspect-ratio: 3 / 2; position: relative; }
.view img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
.text { padding: 1.1rem 1.3rem 1.3rem; display: flex; flex-direction: column; gap: .7rem; flex: 1; }
h2 { font-size: 1.25rem; letter-spacing: -.01em; display: flex; justify-content: space-between; align-items: baseline; }
.verb { font: 600 .75rem ui-monospace, monospace; color: var(--mark); border: 1px solid currentColor;
  border-radius: 99px; padding: .1rem .6rem; letter-spacing: 0; }
.story { color: var(--soft); flex: 1; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .15rem .9rem; font-size: .88rem; }
dt { color: var(--soft); }
dd { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: 44px; display: block; }
svg path { fill: none; stroke: var(--soft); stroke-width: 1.6; vector-effect: non-scaling-stroke; }
svg path:last-child { stroke: var(--mark); }
svg line { stroke: var(--line); vector-effect: non-scaling-stroke; }
figcaption, footer { color: var(--soft); font-size: .82rem; }
a { color: inherit; text-decoration-color: var(--mark); text-underline-offset: 3px; }
.links { display: flex; gap: 1.1rem; font-size: .9rem; }
footer { margin-top: 2.5rem; }
code { font-family: ui-monospace, monospace; }
.command { font-size: .82rem; overflow-wrap: anywhere; }
.command::before { content: "$ "; color: var(--mark); font-family: ui-monospace, monospace; }
"""


def render_page(entries: Sequence[Mapping[str, Any]], folder: Path, seconds: float) -> str:
    """HTML of all entries; stills and loops are read from `folder` and embedded, models are linked beside the page."""
    cards = "\n".join(_render_card(entry, folder) for entry in entries)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cajole: demo</title>
<style>{STYLESHEET}</style>
</head>
<body>
<header>
<h1>Cajole</h1>
<p>Simulations that do as they are told. {len(entries)} scenes made by code, simulated and pictured in {seconds:.0f}
seconds on this computer; below each stands the command that makes or opens it.</p>
</header>
<main>
{cards}
</main>
<footer>
<p>Made by <code>cajole demo</code>, version {escape(cajole.__version__)}. The .glb files open in any 3D viewer. Direct
bodies with your own hand in the browser: <code>cajole studio</code>.</p>
</footer>
</body>
</html>
"""


def _render_card(entry: Mapping[str, Any], folder: Path) -> str:
    title, name, file = (escape(entry[key]) for key in ("title", "name", "file"))
    red, green, blue = (round(255 * c) for c in entry["background"])
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in _list_facts(entry).items())
    return f"""<article id="{name}">
<a class="view" href="{escape(entry["still"])}" style="background: rgb({red} {green} {blue})"><picture>
<source media="(prefers-reduced-motion: reduce)" srcset="{_encode_data_url(folder / entry["still"])}">
<img src="{_encode_data_url(folder / entry["loop"])}" alt="{title}: {escape(entry["story"])}" loading="lazy">
</picture></a>
<div class="text">
<h2>{title} <span class="verb">{escape(entry["verb"])}</span></h2>
<p class="story">{escape(entry["story"])}</p>
<figure>{_render_plot(entry["curves"])}<figcaption>{escape(entry["told"])}, over
{(entry["frames"] - 1) / entry["fps"]:.1f} s</figcaption></figure>
<dl>{rows}</dl>
<p class="command"><code>{escape(entry["command"])}</code></p>
<p class="links"><a href="{file}" download>{file}, {entry["file_bytes"] / 1e6:.1f} MB</a>
<a href="{escape(entry["still"])}">still</a></p>
</div>
</article>"""


def _list_facts(entry: Mapping[str, Any]) -> dict[str, str]:
    body, *others = entry["facts"].items()
    return dict([body, ("motion", f"{entry['frames']} frames in {entry['seconds']:.1f} s"), *others])


def _render_plot(curves: Sequence[Sequence[float]]) -> str:
    """Lines over time, from 0 at the bottom to the largest value at the top; the last one is in the page's colour."""
    top = max(max(values) for values in curves) or 1.0
    lines = "".join(f'<path d="{_render_path(values, top)}"/>' for values in curves)
    ground = f'<line x1="0" x2="{PLOT_WIDTH}" y1="{PLOT_HEIGHT - 2}" y2="{PLOT_HEIGHT - 2}"/>'
    box = f'viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" preserveAspectRatio="none"'
    return f'<svg {box} role="img" aria-label="over time">{ground}{lines}</svg>'


def _render_path(values: Sequence[float], top: float) -> str:
    points = [
        (PLOT_WIDTH * i / max(len(values) - 1, 1), (PLOT_HEIGHT - 4) * (1 - v / top) + 2) for i, v in enumerate(values)
    ]
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _encode_data_url(path: Path) -> str:
    return f"data:{MIME_TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
