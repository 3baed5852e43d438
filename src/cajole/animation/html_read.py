"""Reading HTML: the motion of a page that `write_html` made, with its coordinates as they were rounded."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation.animation import Animation
from cajole.animation.html import FORMAT, VERSION
from cajole.animation.html_arrays import Grid, unpacked
from cajole.animation.reading import AnyMesh, guarded
from cajole.animation.shown import painted
from cajole.checks import count, real_array
from cajole.errors import InputError
from cajole.memory import require_memory
from cajole.mesh import MeshTri, repaired
from cajole.progress import Progress, report
from cajole.storage import open_regular, require_unpackable

# larger pages are none of ours
_MOST_BYTES = 4_000_000_000


def read_html(
    path: Path, *, mesh: AnyMesh | None = None, fps: float | None = None, progress: Progress | None = None
) -> Animation:
    """Read what a page shows: the triangles that are drawn, and the frames that it kept.

    mesh: in place of its rest shape, with the same vertices. Raises FileError for pages that Cajole did not write.
    """
    with guarded(path):
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > _MOST_BYTES:
                raise InputError(f"it has more than {_MOST_BYTES} bytes; write it with fewer frames")
            text = stream.read().decode("utf-8")
        report(progress, 0.2, "reading")
        header = _header(text)
        n, m, frames = (count(header[name], name) for name in ("vertices", "triangles", "frames"))
        require_unpackable(path, size, 6 * n * (1 + frames) + 12 * m + 4 * n)
        require_memory(24 * n * (1 + frames), f"the motion in {path}", "write the page with fewer frames")
        grid = Grid(*(real_array(header[side], side, (3,)) for side in ("low", "high")))
        rows = unpacked(_array(text, "positions"), (1 + frames, 3 * n), np.uint16, "positions")
        rest = Grid(*real_array(header["rest"], "rest", (2, 3))).points(rows[0].reshape(n, 3))
        points = grid.points(rows[1:].reshape(frames, n, 3))
        triangles = unpacked(_array(text, "triangles"), (m, 3), np.uint32, "triangles").astype(np.int64)
        tint = unpacked(_array(text, "tint"), (n, 4), np.uint8, "colours") / 255
        own = repaired(rest, triangles)
        _require_fits(own, mesh)
        return Animation(
            own if mesh is None else mesh,
            points,
            float(header["fps"]) if fps is None else fps,
            skin=painted(own, tint[:, :3], tint[:, 3]) if header["painted"] and mesh is None else None,
            start_frame=header["start_frame"],
            name=header["name"],
        )


def _require_fits(own: MeshTri, mesh: AnyMesh | None) -> None:
    if mesh is not None and len(mesh.vertices) != len(own.vertices):
        raise InputError(
            f"it shows {len(own.vertices)} vertices, but the mesh has {len(mesh.vertices)}; leave mesh= out, or give "
            "the surface that was written"
        )


def _header(text: str) -> dict[str, Any]:
    header = json.loads(_script(text, "application/json", "cajole-motion"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("it holds no motion; only pages that Cajole wrote can be read")
    if header.get("version") != VERSION:
        raise InputError(f"it is of version {header.get('version')!r}, and this Cajole reads {VERSION}; update Cajole")
    return header


def _array(text: str, name: str) -> str:
    return _script(text, "text/plain", f"cajole-{name}")


def _script(text: str, kind: str, name: str) -> str:
    begin = re.search(f'<script type="{re.escape(kind)}" id="{re.escape(name)}">', text)
    end = -1 if begin is None else text.find("</script>", begin.end())
    if begin is None or end < 0:
        raise InputError(f"it holds no {name}; only pages that Cajole wrote can be read")
    return text[begin.end() : end]
