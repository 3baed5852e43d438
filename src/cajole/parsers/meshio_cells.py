"""Points and cells of the formats that meshio reads: .vtk .vtu .mesh.

Runs in a child process (`cajole.parsers.child_process`): meshio trusts the sizes that a file announces.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError

# prefix of the names of cells in a result
CELLS_PREFIX = "cells_"


def parse_cells(path: Path, file_format: str, *, report: Callable[[float], None]) -> dict[str, NDArray[Any]]:
    """points (n, 3) and, for each kind of cell in the file, `cells_<kind>` (m, corners).

    file_format: meshio's name of the format. Raises FileError for every error of meshio.
    """
    import meshio

    with capture_meshio_errors(f"cannot read {path} as {path.suffix}"):
        content = meshio.read(path, file_format=file_format)
        points = np.asarray(content.points, dtype=np.float64)
        if points.ndim == 2 and points.shape[1] == 2:
            points = np.column_stack([points, np.zeros(len(points))])
        kinds = dict.fromkeys(block.type for block in content.cells)
        rows = {kind: [np.asarray(b.data) for b in content.cells if b.type == kind] for kind in kinds}
        cells = {
            CELLS_PREFIX + kind: np.concatenate(blocks) for kind, blocks in rows.items() if sum(map(len, blocks)) > 0
        }
        return {"points": points} | {kind: array.astype(np.int64) for kind, array in cells.items()}


@contextlib.contextmanager
def capture_meshio_errors(what: str) -> Iterator[None]:
    """Turn every reaction of meshio to a bad file, also printing and SystemExit, into a FileError."""
    said = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            yield
    except MemoryError:
        raise
    except (Exception, SystemExit) as reason:
        # damaged files raise any exception in its parsers, such as IndexError and UnicodeDecodeError
        why = " ".join(said.getvalue().split()) or f"{type(reason).__name__} {reason}".strip()
        raise FileError(f"{what}: {why[:200]}; is it damaged, or its suffix wrong?") from None
