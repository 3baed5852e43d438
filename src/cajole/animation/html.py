"""HTML: one self-contained page with an interactive player that works in any browser.

It contains the viewer of the studio, which is built with the package, and the motion: a JSON header and arrays as
`encode_array` packs them. Coordinates are quantised to 2^16 steps over the bounds of the motion.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.export_geometry import ExportGeometry, build_colored_skin, select_export_geometry
from cajole.animation.reader_utils import AnyMesh, wrap_read_errors
from cajole.checks import require_integer, require_positive, require_real_array
from cajole.errors import FileError, InputError
from cajole.memory import require_memory
from cajole.mesh import drop_degenerate_triangles
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.progress import ProgressCallback, report_progress
from cajole.storage import open_regular_file, replace_atomically, require_plausible_expansion

UnsignedArray = NDArray[np.unsignedinteger[Any]]

QUANTISATION_STEPS = 2**16 - 1


@dataclass(frozen=True, eq=False)
class QuantisationGrid:
    """2^16 even steps along each axis between the least and the greatest coordinates (3,) [m]."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def _extent(self) -> NDArray[np.float64]:
        side = self.high - self.low
        return np.where(side > 0, side, 1.0)  # a flat axis has one position, for which any step is right

    def quantise(self, points: NDArray[np.float64]) -> NDArray[np.uint16]:
        """The nearest steps (n, 3) of points (n, 3) [m]."""
        shares = (points - self.low) / self._extent
        return np.rint(QUANTISATION_STEPS * np.clip(shares, 0.0, 1.0)).astype("<u2")

    def dequantise(self, quantised: NDArray[Any]) -> NDArray[np.float64]:
        """Points [m] of steps."""
        return self.low + quantised * (self._extent / QUANTISATION_STEPS)

    @property
    def max_error(self) -> float:
        """The largest error of a stored coordinate [m]."""
        return float((self.high - self.low).max()) / QUANTISATION_STEPS / 2


def encode_array(rows: UnsignedArray) -> str:
    """An array (rows, k) of whole numbers as text: row differences, byte planes, deflate, base64."""
    steps = np.diff(rows, axis=0, prepend=np.zeros_like(rows[:1]))
    little = np.ascontiguousarray(steps, dtype=steps.dtype.newbyteorder("<"))
    planes = little.reshape(-1).view(np.uint8).reshape(-1, little.itemsize).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).data, 6)).decode("ascii")


def decode_array(text: str, shape: tuple[int, int], dtype: type[np.unsignedinteger[Any]], name: str) -> UnsignedArray:
    """An array from its text. Raises InputError if the text does not contain this shape."""
    size = np.dtype(dtype).itemsize
    expected = shape[0] * shape[1] * size
    try:
        stream = base64.b64decode(text.strip(), validate=True)
        # a damaged header may claim more than the stream can hold: deflate never packs more than 1032 bytes into one
        data = zlib.decompressobj().decompress(stream, min(expected, 1100 * len(stream)) + 1)
    except (binascii.Error, zlib.error) as reason:
        raise InputError(f"its {name} are damaged ({reason}); write it again") from None
    if len(data) != expected:
        raise InputError(f"its {name} are {len(data)} bytes, where {expected} are needed; write it again")
    planes = np.frombuffer(data, dtype=np.uint8).reshape(size, -1)
    little = np.ascontiguousarray(planes.T).view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return np.cumsum(little, axis=0, dtype=dtype)


FORMAT_NAME, FORMAT_VERSION = "cajole animation", 1
# bytes of the motion in a file: browsers open this much without a pause
MAX_PAGE_DATA_BYTES = 30_000_000
# bytes of the motion in a notebook cell, which is saved with the notebook
MAX_NOTEBOOK_DATA_BYTES = 4_000_000


@dataclass(frozen=True, eq=False)
class EncodedAnimation:
    """A motion as text: the header, and the arrays positions (of every n-th frame), triangles and tint."""

    header: dict[str, Any]
    arrays: Mapping[str, str]

    @property
    def byte_length(self) -> int:
        """Size of the arrays in bytes."""
        return sum(map(len, self.arrays.values()))


def write_html(
    animation: Animation,
    path: Path,
    *,
    vertices: str | None = None,
    every: int | None = None,
    max_bytes: int = MAX_PAGE_DATA_BYTES,
    camera: Mapping[str, Any] | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Write a page that plays an animation.

    vertices: as for .glb; None: the skin, or else the surface; every: keep every n-th frame; None: as many as fit into
    `max_bytes`, noted on the page; camera: initial azimuth and elevation [degrees].
    """
    motion = encode_animation(animation, vertices, every, max_bytes, camera, progress)
    with replace_atomically(path) as target:
        target.write_text(build_page(motion), encoding="utf-8")


def build_notebook_html(animation: Animation, *, height: int = 420) -> str:
    """HTML of an animation for a notebook cell: the page in a frame `height` px high.

    Text instead if it is too large for a cell, or if the viewer was not built with the package.
    """
    try:
        motion = encode_animation(animation, None, None, MAX_NOTEBOOK_DATA_BYTES, None, None)
        if motion.byte_length > MAX_NOTEBOOK_DATA_BYTES:
            text = f"{animation!r} is too large for a cell; animation.write('{animation.name}.html')"
            return f"<pre>{escape(text)}</pre>"
        inner = escape(build_page(motion), quote=True)
    except FileError as reason:
        return "<pre>" + escape(f"{animation!r}: {reason}") + "</pre>"
    style = f"width: 100%; height: {require_integer(height, 'height')}px; border: 0; border-radius: 8px"
    return (
        f'<iframe title="{escape(animation.name)}" sandbox="allow-scripts" style="{style}" srcdoc="{inner}"></iframe>'
    )


def encode_animation(
    animation: Animation,
    vertices: str | None,
    every: int | None,
    max_bytes: int,
    camera: Mapping[str, Any] | None,
    progress: ProgressCallback | None,
) -> EncodedAnimation:
    """Encode an animation; with `every` None, with so few frames that it fits into `max_bytes`, but at least one."""
    geometry = select_export_geometry(animation, vertices).as_triangles()
    look = {name: float(value) for name, value in (camera or {}).items() if name in ("azimuth", "elevation")}
    if every is not None:
        return _encode_every_nth_frame(animation, geometry, require_integer(every, "every"), look, progress)
    limit = require_positive(max_bytes, "max_bytes")
    # a first guess, at a compression to a quarter; the result is measured
    stride = max(1, math.ceil(6 * len(geometry.mesh.vertices) * geometry.frames / (4 * limit)))
    encoded = _encode_every_nth_frame(animation, geometry, stride, look, progress)
    while encoded.byte_length > limit and stride < geometry.frames:
        stride = min(geometry.frames, max(stride + 1, math.ceil(stride * encoded.byte_length / limit)))
        encoded = _encode_every_nth_frame(animation, geometry, stride, look, progress)
    return encoded


def _encode_every_nth_frame(
    animation: Animation,
    geometry: ExportGeometry,
    every: int,
    camera: dict[str, float],
    progress: ProgressCallback | None,
) -> EncodedAnimation:
    frames = list(range(0, geometry.frames, every))
    n = len(geometry.mesh.vertices)
    rest_grid = QuantisationGrid(geometry.mesh.vertices.min(axis=0), geometry.mesh.vertices.max(axis=0))
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for k, frame in enumerate(frames):
        report_progress(progress, 0.3 * k / len(frames), "measuring")
        points = geometry.positions_at(frame)
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    # the rest shape is not shown and may lie anywhere, so it has a grid of its own
    frame_grid = QuantisationGrid(low, high)
    # row 0 is the rest shape
    rows = np.empty((1 + len(frames), 3 * n), dtype="<u2")
    rows[0] = rest_grid.quantise(geometry.mesh.vertices).ravel()
    for k, frame in enumerate(frames, start=1):
        report_progress(progress, 0.3 + 0.7 * k / len(rows), "writing frames")
        rows[k] = frame_grid.quantise(geometry.positions_at(frame)).ravel()
    skin, painted = animation.skin, geometry.colors is not None
    colors = geometry.colors if geometry.colors is not None else np.tile(DEFAULT_COLOR, (n, 1))
    gloss = skin.gloss if skin is not None and painted and len(skin.gloss) == n else np.full(n, 0.2)
    ordinal = f"{every}{'th' if every % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(every % 10, 'th')}"
    header = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "name": animation.name,
        "fps": animation.fps / every,
        "frames": len(frames),
        "every": every,
        "start_frame": animation.start_frame,
        "vertices": n,
        "triangles": len(geometry.elements),
        "low": frame_grid.low.tolist(),
        "high": frame_grid.high.tolist(),
        "rest": [rest_grid.low.tolist(), rest_grid.high.tolist()],
        "size": float(np.linalg.norm(np.ptp(geometry.positions_at(0), axis=0))) or geometry.mesh.size,
        "painted": painted,
        "camera": camera,
        "note": "" if every == 1 else f"every {ordinal} of {geometry.frames} frames",
    }
    arrays = {
        "positions": encode_array(rows),
        "triangles": encode_array(geometry.elements.astype(np.uint32)),
        # red, green, blue (sRGB) and gloss
        "tint": encode_array(np.rint(255 * np.column_stack([colors, gloss])).astype(np.uint8)),
    }
    return EncodedAnimation(header, arrays)


def build_page(encoded: EncodedAnimation) -> str:
    """The page as text. Raises FileError if the viewer was not built with the package."""
    header = json.dumps(encoded.header, allow_nan=False).replace("<", "\\u003c")
    # the page cannot request anything from outside
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    arrays = "\n".join(
        f'<script type="text/plain" id="cajole-{name}">{text}</script>' for name, text in encoded.arrays.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(encoded.header["name"])}</title>
<style>{_load_viewer_asset("viewer.css")}</style>
</head>
<body>
<noscript>This motion is drawn with JavaScript; allow it for this page.</noscript>
<script type="application/json" id="cajole-motion">{header}</script>
{arrays}
<script type="module">{_load_viewer_asset("viewer.js")}</script>
</body>
</html>
"""


def _load_viewer_asset(name: str) -> str:
    """A file of the viewer, escaped so that it can be part of a page."""
    try:
        text = (resources.files("cajole") / "studio" / "static" / name).read_text(encoding="utf-8")
    except OSError:
        raise FileError(
            "HTML needs the view that is built with the package, and this one was installed without it; install a "
            "wheel, or run python hatch_build.py in a checkout"
        ) from None
    return text.replace("</script", "<\\/script").replace("</style", "<\\/style").replace("<!--", "<\\!--")


def read_html(
    path: Path, *, mesh: AnyMesh | None = None, fps: float | None = None, progress: ProgressCallback | None = None
) -> Animation:
    """Read the triangles and frames of a page that Cajole wrote.

    mesh: replaces its rest shape and has the same vertices. Raises FileError for other pages.
    """
    with wrap_read_errors(path):
        with open_regular_file(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > 4_000_000_000:
                raise InputError(f"it has {size} bytes, more than 4000000000; write it with fewer frames")
            text = stream.read().decode("utf-8")
        report_progress(progress, 0.2, "reading")
        header = _parse_header(text)
        n, m, frames = (require_integer(header[name], name) for name in ("vertices", "triangles", "frames"))
        require_plausible_expansion(path, size, 6 * n * (1 + frames) + 12 * m + 4 * n)
        require_memory(24 * n * (1 + frames), f"the motion in {path}", "write the page with fewer frames")
        find = partial(_find_script_text, text, "text/plain")
        grid = QuantisationGrid(*(require_real_array(header[side], side, (3,)) for side in ("low", "high")))
        rows = decode_array(find("cajole-positions"), (1 + frames, 3 * n), np.uint16, "positions")
        rest = QuantisationGrid(*require_real_array(header["rest"], "rest", (2, 3))).dequantise(rows[0].reshape(n, 3))
        points = grid.dequantise(rows[1:].reshape(frames, n, 3))
        triangles = decode_array(find("cajole-triangles"), (m, 3), np.uint32, "triangles").astype(np.int64)
        tint = decode_array(find("cajole-tint"), (n, 4), np.uint8, "colours") / 255
        own = drop_degenerate_triangles(rest, triangles)
        if mesh is not None and len(mesh.vertices) != n:
            raise InputError(
                f"it shows {n} vertices, but the mesh has {len(mesh.vertices)}; leave mesh= out, or give the surface "
                "that was written"
            )
        return Animation(
            own if mesh is None else mesh,
            points,
            float(header["fps"]) if fps is None else fps,
            skin=build_colored_skin(own, tint[:, :3], tint[:, 3]) if header["painted"] and mesh is None else None,
            start_frame=header["start_frame"],
            name=header["name"],
        )


def _parse_header(text: str) -> dict[str, Any]:
    header = json.loads(_find_script_text(text, "application/json", "cajole-motion"))
    if not isinstance(header, dict) or header.get("format") != FORMAT_NAME:
        raise InputError("it holds no motion; only pages that Cajole wrote can be read")
    if header.get("version") != FORMAT_VERSION:
        raise InputError(
            f"it is of version {header.get('version')!r}, and this Cajole reads {FORMAT_VERSION}; update Cajole"
        )
    return header


def _find_script_text(text: str, kind: str, name: str) -> str:
    begin = re.search(f'<script type="{re.escape(kind)}" id="{re.escape(name)}">', text)
    end = -1 if begin is None else text.find("</script>", begin.end())
    if begin is None or end < 0:
        raise InputError(f"it holds no {name}; only pages that Cajole wrote can be read")
    return text[begin.end() : end]
