"""Frame rates of sample times, and evenly spaced times for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError

# default of files without a rate: that of simulations here
DEFAULT_FPS = 60.0
# three hours at 1000 frames/s; more is an error in the rate
MAX_FRAMES = 10_000_000
# bytes; larger arrays of frames have single precision, since twice this size still fits a small laptop
MAX_DOUBLE_PRECISION_BYTES = 1 << 28


def choose_frame_dtype(frames: int, n: int) -> type[np.float64] | type[np.float32]:
    """The type of arrays of `frames` of `n` vertices: single precision if double would be large."""
    return np.float32 if frames * n * 24 > MAX_DOUBLE_PRECISION_BYTES else np.float64


def round_frame_rate(fps: float) -> float:
    """`fps` rounded to a whole or broadcast rate (1000/1001 of whole) within single precision, if there is one."""
    for unit in (1.0, 1000 / 1001):
        near = round(fps / unit) * unit
        if abs(near - fps) < 1e-4 * min(fps, 1.0):
            return near
    return fps


def estimate_frame_rate(times: NDArray[np.floating[Any]], path: Path) -> float | None:
    """The frames per second of rising sample times [s], or None for uneven spacing or a single time."""
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise FileError(
            f"{path}: its times do not rise from frame to frame; pass fps= to ignore them, or export it again"
        )
    if len(times) < 2:
        return None
    step = float(times[-1] - times[0]) / (len(times) - 1)
    # deviations by more than this share of a frame are not one rate
    uneven = np.abs(times - (times[0] + step * np.arange(len(times)))).max() > 0.05 * step
    return None if uneven else round_frame_rate(1 / step)


def build_uniform_times(times: NDArray[np.floating[Any]], fps: float, path: Path) -> NDArray[np.float64]:
    """Times at `fps` from the first of `times` to the last [s]. Raises FileError for an implausible number."""
    frames = float(times[-1] - times[0]) * fps + 1
    if not frames <= min(MAX_FRAMES, 1000 * len(times)):
        raise FileError(f"{path}: {len(times)} samples spread over {frames:.3g} frames; its times are damaged")
    return np.asarray(times[0] + np.arange(round(frames)) / fps, dtype=np.float64)
