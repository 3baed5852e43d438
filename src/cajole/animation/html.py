"""HTML: one file that plays in any browser, with nothing to fetch: turn it, play it, scrub through it.

It holds the studio's own view, which is built with the package, and the motion: a JSON header and arrays as
`html_arrays` packs them. Coordinates are rounded to 2^16 steps over the bounds of the motion.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.html_arrays import Grid, packed
from cajole.animation.shown import Shown, shown
from cajole.checks import count, positive
from cajole.errors import FileError
from cajole.mesh.skin import PLAIN
from cajole.progress import Progress, portion, report
from cajole.storage import atomic_path

FORMAT, VERSION = "cajole animation", 1
# of the motion in a file: browsers open so much at once
LARGEST = 30_000_000
# of the motion in a cell of a notebook, which is kept with it
LARGEST_CELL = 4_000_000
# a first guess at how much smaller packing makes a motion; what it becomes is measured
_PACKED = 4
# nothing that the file holds may ask for anything outside it
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_PLAIN_GLOSS = 0.2


@dataclass(frozen=True, eq=False)
class Packed:
    """A motion as text: the header, and positions (every so many frames), triangles and paint."""

    header: dict[str, Any]
    arrays: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return sum(map(len, self.arrays.values()))


def write_html(
    animation: Animation,
    path: Path,
    *,
    vertices: str | None = None,
    every: int | None = None,
    largest: int = LARGEST,
    camera: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a page that shows an animation.

    vertices: as for .glb, the skin or else the surface when None; every: keep every so many-th frame; None: as many as
    fit into `largest` bytes, and the page says so; camera: azimuth and elevation [degrees] to begin with.
    """
    motion = pack(animation, vertices, every, largest, camera, progress)
    with atomic_path(path) as target:
        target.write_text(page(motion), encoding="utf-8")


def notebook_html(animation: Animation, *, height: int = 420) -> str:
    """An animation for a cell of a notebook: the page in a frame `height` px high.

    Words instead where it is too large for a cell, or where the view was not built with the package.
    """
    try:
        motion = pack(animation, None, None, LARGEST_CELL, None, None)
        if motion.size > LARGEST_CELL:
            return _words(f"{animation!r} is too large for a cell; animation.write('{animation.name}.html')")
        inner = escape(page(motion), quote=True)
    except FileError as reason:
        return _words(f"{animation!r}: {reason}")
    style = f"width: 100%; height: {count(height, 'height')}px; border: 0; border-radius: 8px"
    return (
        f'<iframe title="{escape(animation.name)}" sandbox="allow-scripts" style="{style}" srcdoc="{inner}"></iframe>'
    )


def _words(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def pack(
    animation: Animation, vertices: str | None, every: int | None, largest: int, camera: Mapping[str, Any] | None,
    progress: Progress | None,
) -> Packed:  # fmt: skip
    """A motion packed; with `every` None, so few frames that it fits into `largest` bytes, or one."""
    what = shown(animation, vertices).as_triangles()
    look = {name: float(value) for name, value in (camera or {}).items() if name in ("azimuth", "elevation")}
    if every is not None:
        return _packed(animation, what, count(every, "every"), look, progress)
    most = positive(largest, "largest")
    stride = max(1, math.ceil(6 * len(what.mesh.vertices) * what.frames / (_PACKED * most)))
    made = _packed(animation, what, stride, look, progress)
    while made.size > most and stride < what.frames:
        stride = min(what.frames, max(stride + 1, math.ceil(stride * made.size / most)))
        made = _packed(animation, what, stride, look, progress)
    return made


def _packed(
    animation: Animation, what: Shown, every: int, camera: dict[str, float], progress: Progress | None
) -> Packed:
    frames = list(range(0, what.frames, every))
    rest = Grid(what.mesh.vertices.min(axis=0), what.mesh.vertices.max(axis=0))
    grid = _bounds(what, frames, portion(progress, 0.0, 0.3))
    tint = _tint(animation, what)
    header = {
        "format": FORMAT, "version": VERSION, "name": animation.name, "fps": animation.fps / every,
        "frames": len(frames), "every": every, "start_frame": animation.start_frame,
        "vertices": len(what.mesh.vertices), "triangles": len(what.elements),
        "low": grid.low.tolist(), "high": grid.high.tolist(), "rest": [rest.low.tolist(), rest.high.tolist()],
        "size": float(np.linalg.norm(np.ptp(what.at(0), axis=0))) or what.mesh.size,
        "painted": what.colors is not None, "camera": camera,
        "note": "" if every == 1 else f"every {_th(every)} of {what.frames} frames",
    }  # fmt: skip
    arrays = {
        "positions": packed(_whole(what, frames, rest, grid, portion(progress, 0.3, 1.0))),
        "triangles": packed(what.elements.astype(np.uint32)),
        "tint": packed(tint),
    }
    return Packed(header, arrays)


def _th(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def _bounds(what: Shown, frames: list[int], progress: Progress | None) -> Grid:
    """Steps over what frames take. The rest shape is never seen, and may lie anywhere: it has steps of its own."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for k, frame in enumerate(frames):
        report(progress, k / len(frames), "measuring")
        points = what.at(frame)
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    return Grid(low, high)


def _whole(what: Shown, frames: list[int], rest: Grid, grid: Grid, progress: Progress | None) -> NDArray[np.uint16]:
    """(1 + frames, 3n) the rest shape and the frames, each in steps of its grid."""
    rows = np.empty((1 + len(frames), what.mesh.vertices.size), dtype="<u2")
    rows[0] = rest.whole(what.mesh.vertices).ravel()
    for k, frame in enumerate(frames, start=1):
        report(progress, k / len(rows), "writing frames")
        rows[k] = grid.whole(what.at(frame)).ravel()
    return rows


def _tint(animation: Animation, what: Shown) -> NDArray[np.uint8]:
    """(n, 4) red, green, blue (sRGB) and gloss of each vertex."""
    n = len(what.mesh.vertices)
    colors = np.tile(PLAIN, (n, 1)) if what.colors is None else what.colors
    skin = animation.skin
    own = skin is not None and len(skin.gloss) == n and what.colors is not None
    gloss = skin.gloss if own and skin is not None else np.full(n, _PLAIN_GLOSS)
    return np.rint(255 * np.column_stack([colors, gloss])).astype(np.uint8)


def page(motion: Packed) -> str:
    """The whole page. Raises FileError where the view was not built with the package."""
    header = json.dumps(motion.header, allow_nan=False).replace("<", "\\u003c")
    arrays = "\n".join(
        f'<script type="text/plain" id="cajole-{name}">{text}</script>' for name, text in motion.arrays.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(motion.header["name"])}</title>
<style>{_asset("viewer.css")}</style>
</head>
<body>
<noscript>This motion is drawn with JavaScript; allow it for this page.</noscript>
<script type="application/json" id="cajole-motion">{header}</script>
{arrays}
<script type="module">{_asset("viewer.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    """A part of the view, such that it can stand inside a page."""
    try:
        text = (resources.files("cajole") / "studio" / "static" / name).read_text(encoding="utf-8")
    except OSError:
        raise FileError(
            "HTML needs the view that is built with the package, and this one was installed without it; install a "
            "wheel, or run python hatch_build.py in a checkout"
        ) from None
    return text.replace("</script", "<\\/script").replace("</style", "<\\/style").replace("<!--", "<\\!--")
