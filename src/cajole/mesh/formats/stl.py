"""STL: separate triangles, as text or binary; corners at equal positions become one vertex."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from cajole.errors import FileError
from cajole.mesh.base import MeshTri
from cajole.mesh.formats.text_lines import parse_float_rows, read_file_bytes, read_text_lines
from cajole.mesh.repair import drop_degenerate_triangles, weld_vertices

HEADER_BYTES = 80
TRIANGLE_DTYPE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(path: Path) -> MeshTri:
    """Read triangles. Raises FileError for a file that is cut off or neither kind of STL."""
    data = read_file_bytes(path)
    promised = struct.unpack_from("<I", data, HEADER_BYTES)[0] if len(data) >= HEADER_BYTES + 4 else -1
    expected = HEADER_BYTES + 4 + max(promised, 0) * TRIANGLE_DTYPE.itemsize
    # the size decides: many binary files begin with the word that marks a text file
    if promised >= 0 and len(data) == expected:
        corners = np.frombuffer(data, TRIANGLE_DTYPE, offset=HEADER_BYTES + 4)["corners"].astype(np.float64)
    elif data.lstrip()[:5].lower() == b"solid" and b"\0" not in data:
        lines = read_text_lines(path)
        rows = [line for line in lines if line.text[:6].lower() == "vertex"]
        if not lines[-1].text.lower().startswith("endsolid"):
            raise lines[-1].build_error("expected 'endsolid' as the last line: the file seems cut off")
        if len(rows) % 3:
            raise rows[-1].build_error(f"{len(rows)} vertices do not make whole triangles")
        corners = parse_float_rows(rows, 1, 3, "vertex x y z").reshape(-1, 3, 3)
    else:
        raise FileError(
            f"{path} is no STL: text begins with 'solid', and binary with {promised} triangles, as bytes 80 to 83 say, "
            f"has {expected} bytes, not {len(data)}; is it cut off?"
        )
    if not len(corners):
        raise FileError(f"{path} holds no triangle; export it again")
    finite = np.isfinite(corners).all(axis=(1, 2))
    if not finite.all():
        raise FileError(f"{path}: triangle {int(np.argmin(finite)) + 1} is not finite; export it again")
    return drop_degenerate_triangles(*weld_vertices(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)))


def write_stl(mesh: MeshTri, path: Path) -> None:
    """Write binary STL. The format has single precision and no shared vertices."""
    records = np.zeros(len(mesh.triangles), TRIANGLE_DTYPE)
    records["normal"] = mesh.normals
    records["corners"] = mesh.vertices[mesh.triangles]
    path.write_bytes(b"binary STL".ljust(HEADER_BYTES, b" ") + struct.pack("<I", len(records)) + records.tobytes())
