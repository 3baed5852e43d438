"""HTML: one file that plays in any browser, with nothing to fetch: turn it, play it, scrub through it.

It holds the studio's own view, which is built with the package, and the motion: a JSON header and arrays as
`html_arrays` packs them. Coordinates are rounded to 2^16 steps over the bounds of the motion.
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
from cajole.mesh import MeshTri, drop_degenerate_triangles
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.storage import open_regular_file, replace_atomically, require_plausible_expansion

UnsignedArray = NDArray[np.unsignedinteger[Any]]

QUANTISATION_STEPS = 2**16 - 1
# deflate never packs more than 1032 bytes into one
_MAX_DEFLATE_RATIO = 1100


@dataclass(frozen=True, eq=False)
class QuantisationGrid:
    """Even steps between the least and the greatest coordinates (3,) [m], 2^16 of them along each axis."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def _extent(self) -> NDArray[np.float64]:
        side = self.high - self.low
        return np.where(side > 0, side, 1.0)  # what is flat has one place only, and any step will do

    def quantise(self, points: NDArray[np.float64]) -> NDArray[np.uint16]:
        """The nearest steps (n, 3) of points (n, 3) [m] inside."""
        shares = (points - self.low) / self._extent
        return np.rint(QUANTISATION_STEPS * np.clip(shares, 0.0, 1.0)).astype("<u2")

    def dequantise(self, quantised: NDArray[Any]) -> NDArray[np.float64]:
        """Points [m] of steps."""
        return self.low + quantised * (self._extent / QUANTISATION_STEPS)

    @property
    def max_error(self) -> float:
        """How far a stored coordinate is from the true one at most [m]."""
        return float((self.high - self.low).max()) / QUANTISATION_STEPS / 2


def encode_array(rows: UnsignedArray) -> str:
    """An array (rows, k) of whole numbers as text."""
    steps = np.diff(rows, axis=0, prepend=np.zeros_like(rows[:1]))
    little = np.ascontiguousarray(steps, dtype=steps.dtype.newbyteorder("<"))
    planes = little.reshape(-1).view(np.uint8).reshape(-1, little.itemsize).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).data, 6)).decode("ascii")


def decode_array(text: str, shape: tuple[int, int], dtype: type[np.unsignedinteger[Any]], name: str) -> UnsignedArray:
    """An array from its text. Raises InputError where that is not one of this shape."""
    size = np.dtype(dtype).itemsize
    expected = shape[0] * shape[1] * size
    try:
        stream = base64.b64decode(text.strip(), validate=True)
        # a damaged header may claim more than any stream could hold
        data = zlib.decompressobj().decompress(stream, min(expected, _MAX_DEFLATE_RATIO * len(stream)) + 1)
    except (binascii.Error, zlib.error) as reason:
        raise InputError(f"its {name} are damaged ({reason}); write it again") from None
    if len(data) != expected:
        raise InputError(f"its {name} are {len(data)} bytes, where {expected} are needed; write it again")
    planes = np.frombuffer(data, dtype=np.uint8).reshape(size, -1)
    little = np.ascontiguousarray(planes.T).view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return np.cumsum(little, axis=0, dtype=dtype)


FORMAT_NAME, FORMAT_VERSION = "cajole animation", 1
# of the motion in a file: browsers open so much at once
MAX_PAGE_DATA_BYTES = 30_000_000
# of the motion in a cell of a notebook, which is kept with it
MAX_NOTEBOOK_DATA_BYTES = 4_000_000
# a first guess at how much smaller packing makes a motion; what it becomes is measured
_EXPECTED_COMPRESSION_RATIO = 4
# nothing that the file holds may ask for anything outside it
_CONTENT_SECURITY_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_DEFAULT_PAGE_GLOSS = 0.2


@dataclass(frozen=True, eq=False)
class EncodedAnimation:
    """A motion as text: the header, and positions (every so many frames), triangles and paint."""

    header: dict[str, Any]
    arrays: Mapping[str, str]

    @property
    def byte_length(self) -> int:
        """Bytes of the arrays."""
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
    """Write a page that shows an animation.

    vertices: as for .glb, the skin or else the surface when None; every: keep every so many-th frame; None: as many as
    fit into `max_bytes`, and the page says so; camera: azimuth and elevation [degrees] to begin with.
    """
    motion = encode_animation(animation, vertices, every, max_bytes, camera, progress)
    with replace_atomically(path) as target:
        target.write_text(build_page(motion), encoding="utf-8")


def build_notebook_html(animation: Animation, *, height: int = 420) -> str:
    """An animation for a cell of a notebook: the page in a frame `height` px high.

    Words instead where it is too large for a cell, or where the view was not built with the package.
    """
    try:
        motion = encode_animation(animation, None, None, MAX_NOTEBOOK_DATA_BYTES, None, None)
        if motion.byte_length > MAX_NOTEBOOK_DATA_BYTES:
            return _build_text_html(f"{animation!r} is too large for a cell; animation.write('{animation.name}.html')")
        inner = escape(build_page(motion), quote=True)
    except FileError as reason:
        return _build_text_html(f"{animation!r}: {reason}")
    style = f"width: 100%; height: {require_integer(height, 'height')}px; border: 0; border-radius: 8px"
    return (
        f'<iframe title="{escape(animation.name)}" sandbox="allow-scripts" style="{style}" srcdoc="{inner}"></iframe>'
    )


def _build_text_html(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def encode_animation(
    animation: Animation, vertices: str | None, every: int | None, max_bytes: int, camera: Mapping[str, Any] | None,
    progress: ProgressCallback | None,
) -> EncodedAnimation:  # fmt: skip
    """A motion packed; with `every` None, so few frames that it fits into `max_bytes`, or one."""
    geometry = select_export_geometry(animation, vertices).as_triangles()
    look = {name: float(value) for name, value in (camera or {}).items() if name in ("azimuth", "elevation")}
    if every is not None:
        return _encode_every_nth_frame(animation, geometry, require_integer(every, "every"), look, progress)
    limit = require_positive(max_bytes, "max_bytes")
    stride = max(
        1, math.ceil(6 * len(geometry.mesh.vertices) * geometry.frames / (_EXPECTED_COMPRESSION_RATIO * limit))
    )
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
    rest_grid = QuantisationGrid(geometry.mesh.vertices.min(axis=0), geometry.mesh.vertices.max(axis=0))
    frame_grid = _compute_quantisation_grid(geometry, frames, build_subprogress(progress, 0.0, 0.3))
    colors_and_gloss = _compute_colors_and_gloss(animation, geometry)
    header = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "name": animation.name,
        "fps": animation.fps / every,
        "frames": len(frames),
        "every": every,
        "start_frame": animation.start_frame,
        "vertices": len(geometry.mesh.vertices),
        "triangles": len(geometry.elements),
        "low": frame_grid.low.tolist(),
        "high": frame_grid.high.tolist(),
        "rest": [rest_grid.low.tolist(), rest_grid.high.tolist()],
        "size": float(np.linalg.norm(np.ptp(geometry.positions_at(0), axis=0))) or geometry.mesh.size,
        "painted": geometry.colors is not None,
        "camera": camera,
        "note": "" if every == 1 else f"every {_format_ordinal(every)} of {geometry.frames} frames",
    }
    arrays = {
        "positions": encode_array(
            _quantise_frames(geometry, frames, rest_grid, frame_grid, build_subprogress(progress, 0.3, 1.0))
        ),
        "triangles": encode_array(geometry.elements.astype(np.uint32)),
        "tint": encode_array(colors_and_gloss),
    }
    return EncodedAnimation(header, arrays)


def _format_ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def _compute_quantisation_grid(
    geometry: ExportGeometry, frames: list[int], progress: ProgressCallback | None
) -> QuantisationGrid:
    """Steps over what frames take. The rest shape is never seen, and may lie anywhere: it has steps of its own."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for k, frame in enumerate(frames):
        report_progress(progress, k / len(frames), "measuring")
        points = geometry.positions_at(frame)
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    return QuantisationGrid(low, high)


def _quantise_frames(
    geometry: ExportGeometry,
    frames: list[int],
    rest_grid: QuantisationGrid,
    frame_grid: QuantisationGrid,
    progress: ProgressCallback | None,
) -> NDArray[np.uint16]:
    """(1 + frames, 3n) the rest shape and the frames, each in steps of its grid."""
    rows = np.empty((1 + len(frames), geometry.mesh.vertices.size), dtype="<u2")
    rows[0] = rest_grid.quantise(geometry.mesh.vertices).ravel()
    for k, frame in enumerate(frames, start=1):
        report_progress(progress, k / len(rows), "writing frames")
        rows[k] = frame_grid.quantise(geometry.positions_at(frame)).ravel()
    return rows


def _compute_colors_and_gloss(animation: Animation, geometry: ExportGeometry) -> NDArray[np.uint8]:
    """(n, 4) red, green, blue (sRGB) and gloss of each vertex."""
    n = len(geometry.mesh.vertices)
    colors = np.tile(DEFAULT_COLOR, (n, 1)) if geometry.colors is None else geometry.colors
    skin = animation.skin
    own = skin is not None and len(skin.gloss) == n and geometry.colors is not None
    gloss = skin.gloss if own and skin is not None else np.full(n, _DEFAULT_PAGE_GLOSS)
    return np.rint(255 * np.column_stack([colors, gloss])).astype(np.uint8)


def build_page(encoded: EncodedAnimation) -> str:
    """The whole page. Raises FileError where the view was not built with the package."""
    header = json.dumps(encoded.header, allow_nan=False).replace("<", "\\u003c")
    arrays = "\n".join(
        f'<script type="text/plain" id="cajole-{name}">{text}</script>' for name, text in encoded.arrays.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<meta http-equiv="Content-Security-Policy" content="{_CONTENT_SECURITY_POLICY}">
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
    """A part of the view, such that it can stand inside a page."""
    try:
        text = (resources.files("cajole") / "studio" / "static" / name).read_text(encoding="utf-8")
    except OSError:
        raise FileError(
            "HTML needs the view that is built with the package, and this one was installed without it; install a "
            "wheel, or run python hatch_build.py in a checkout"
        ) from None
    return text.replace("</script", "<\\/script").replace("</style", "<\\/style").replace("<!--", "<\\!--")


# larger pages are none of ours
_MAX_PAGE_BYTES = 4_000_000_000


def read_html(
    path: Path, *, mesh: AnyMesh | None = None, fps: float | None = None, progress: ProgressCallback | None = None
) -> Animation:
    """Read what a page shows: the triangles that are drawn, and the frames that it kept.

    mesh: in place of its rest shape, with the same vertices. Raises FileError for pages that Cajole did not write.
    """
    with wrap_read_errors(path):
        with open_regular_file(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > _MAX_PAGE_BYTES:
                raise InputError(f"it has more than {_MAX_PAGE_BYTES} bytes; write it with fewer frames")
            text = stream.read().decode("utf-8")
        report_progress(progress, 0.2, "reading")
        header = _parse_header(text)
        n, m, frames = (require_integer(header[name], name) for name in ("vertices", "triangles", "frames"))
        require_plausible_expansion(path, size, 6 * n * (1 + frames) + 12 * m + 4 * n)
        require_memory(24 * n * (1 + frames), f"the motion in {path}", "write the page with fewer frames")
        grid = QuantisationGrid(*(require_real_array(header[side], side, (3,)) for side in ("low", "high")))
        rows = decode_array(_find_array_text(text, "positions"), (1 + frames, 3 * n), np.uint16, "positions")
        rest = QuantisationGrid(*require_real_array(header["rest"], "rest", (2, 3))).dequantise(rows[0].reshape(n, 3))
        points = grid.dequantise(rows[1:].reshape(frames, n, 3))
        triangles = decode_array(_find_array_text(text, "triangles"), (m, 3), np.uint32, "triangles").astype(np.int64)
        tint = decode_array(_find_array_text(text, "tint"), (n, 4), np.uint8, "colours") / 255
        own = drop_degenerate_triangles(rest, triangles)
        _require_same_vertex_count(own, mesh)
        return Animation(
            own if mesh is None else mesh,
            points,
            float(header["fps"]) if fps is None else fps,
            skin=build_colored_skin(own, tint[:, :3], tint[:, 3]) if header["painted"] and mesh is None else None,
            start_frame=header["start_frame"],
            name=header["name"],
        )


def _require_same_vertex_count(stored: MeshTri, mesh: AnyMesh | None) -> None:
    if mesh is not None and len(mesh.vertices) != len(stored.vertices):
        raise InputError(
            f"it shows {len(stored.vertices)} vertices, but the mesh has {len(mesh.vertices)}; leave mesh= out, "
            f"or give "
            "the surface that was written"
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


def _find_array_text(text: str, name: str) -> str:
    return _find_script_text(text, "text/plain", f"cajole-{name}")


def _find_script_text(text: str, kind: str, name: str) -> str:
    begin = re.search(f'<script type="{re.escape(kind)}" id="{re.escape(name)}">', text)
    end = -1 if begin is None else text.find("</script>", begin.end())
    if begin is None or end < 0:
        raise InputError(f"it holds no {name}; only pages that Cajole wrote can be read")
    return text[begin.end() : end]
