"""Processing of long arrays in blocks of frames, so that memory-mapped arrays are never loaded as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.checks import require_shape
from cajole.errors import InputError
from cajole.mesh.base import MAX_COORDINATE
from cajole.parsers.frame_rates import MAX_DOUBLE_PRECISION_BYTES as MAX_DOUBLE_PRECISION_BYTES
from cajole.parsers.frame_rates import choose_frame_dtype as choose_frame_dtype
from cajole.progress import ProgressCallback, report_progress

# approximate bytes of a block: large enough for the speed of NumPy, small compared with any memory
BLOCK_BYTES = 1 << 24


def iter_frame_blocks(frames: int, n: int) -> Iterator[slice]:
    """Slices of consecutive frames of `n` vertices that together cover `frames`."""
    step = max(1, BLOCK_BYTES // max(24 * n, 1))
    for start in range(0, frames, step):
        yield slice(start, min(start + step, frames))


def iter_frame_blocks_with_progress(
    frames: int, n: int, progress: ProgressCallback | None, text: str
) -> Iterator[slice]:
    """The same slices; `progress` is called before each and at the end."""
    for block in iter_frame_blocks(frames, n):
        report_progress(progress, block.start / frames, text)
        yield block
    report_progress(progress, 1.0, text)


def check_frame_array(
    value: ArrayLike,
    name: str,
    n: int,
    frames: int | None = None,
    *,
    already_checked: tuple[NDArray[np.floating[Any]], ...] = (),
) -> NDArray[np.floating[Any]]:
    """`value` as a read-only (frames, n, 3) array of float64, every entry finite, checked block by block.

    Arrays that are memory-mapped or large stay float32. No copy is made of float arrays.
    already_checked: arrays returned before, whose entries are not checked again.
    """
    with np.errstate(invalid="ignore"):  # signalling NaNs warn when they are copied
        try:
            array: NDArray[Any] = value if isinstance(value, np.memmap) else np.asarray(value)
        except (TypeError, ValueError, OverflowError) as reason:
            raise InputError(f"{name} must be real numbers of shape (frames, n, 3): {reason}") from None
        if array.dtype.kind not in "fiu":
            raise InputError(f"{name} must be real numbers of shape (frames, n, 3), not {array.dtype}")
        large = isinstance(array, np.memmap) or 2 * array.nbytes > MAX_DOUBLE_PRECISION_BYTES
        if array.dtype != np.float64 and not (array.dtype == np.float32 and large):
            array = array.astype(np.float64)
    if array.ndim == 3 and array.shape[2] == 3 and array.shape[1] != n:
        raise InputError(f"{name} moves {array.shape[1]} vertices, but the mesh has {n}; use the mesh it was made for")
    require_shape(array, name, (frames, n, 3))
    if not len(array):
        raise InputError(f"{name} has no frames; an animation needs at least one")
    if any(value is known for known in already_checked):
        return array
    for block in iter_frame_blocks(len(array), n):
        _require_finite(array[block], name, block.start)
    view = array.view()
    view.flags.writeable = False
    return view


def compute_bounds_over_frames(array: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """(2, 3) the least and greatest coordinates over all frames of a (frames, n, 3) array."""
    least, most = np.full(3, np.inf), np.full(3, -np.inf)
    for block in iter_frame_blocks(*array.shape[:2]):
        # over frames first: a loop over rows of three takes eight times as long
        least = np.minimum(least, array[block].min(axis=0).min(axis=0))
        most = np.maximum(most, array[block].max(axis=0).max(axis=0))
    return np.array([least, most])


def compute_max_displacement(array: NDArray[np.floating[Any]], reference: NDArray[np.floating[Any]]) -> float:
    """The largest distance of a vertex of (frames, n, 3) from its place in `reference` (n, 3)."""
    squares = (((array[block] - reference) ** 2).sum(axis=2).max() for block in iter_frame_blocks(*array.shape[:2]))
    return float(np.sqrt(max(squares)))


def _require_finite(block: NDArray[np.floating[Any]], name: str, first_frame: int) -> None:
    with np.errstate(invalid="ignore"):
        good = np.abs(block) <= np.float64(MAX_COORDINATE)  # false for NaN; a plain float overflows beside float32
    if good.all():
        return
    frame, vertex, axis = (int(i) for i in np.argwhere(~good)[0])
    raise InputError(
        f"{name} is {block[frame, vertex, axis]} at frame {first_frame + frame}, vertex {vertex}, coordinate "
        f"{'xyz'[axis]}; "
        f"every value must be finite and below {MAX_COORDINATE:g}: repair it, or trim the animation before it"
    )
