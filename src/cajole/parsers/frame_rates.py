"""Frame rates: times that files store, and the even spacing that they are read at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError

# assumed where a file does not say: the rate that simulations here use
DEFAULT_FPS = 60.0
# three hours at 1000 frames/s: more is a mistake in the rate
MAX_FRAMES = 10_000_000
# single precision times leave this much doubt about a rate that is a whole number or a broadcast rate
_RATE_TOLERANCE = 1e-4
# times that stray from an even spacing by more than this share of a frame are not one rate
_SPACING_TOLERANCE = 0.05
# more new frames than this for each stored one means that a time in the file is damaged
_MAX_FRAMES_PER_SAMPLE = 1000
# from this size on frames are held in single precision: twice of it still fits a small laptop
MAX_DOUBLE_PRECISION_BYTES = 1 << 28


def choose_frame_dtype(frames: int, n: int) -> type[np.float64] | type[np.float32]:
    """The type that `frames` of `n` vertices are held in: single precision where double would be large."""
    return np.float32 if frames * n * 24 > MAX_DOUBLE_PRECISION_BYTES else np.float64


def round_frame_rate(fps: float) -> float:
    """`fps` rounded to the whole or broadcast (1000/1001 of whole) rate it is within single precision of, if any."""
    for unit in (1.0, 1000 / 1001):
        near = round(fps / unit) * unit
        if abs(near - fps) < _RATE_TOLERANCE * min(fps, 1.0):
            return near
    return fps


def estimate_frame_rate(times: NDArray[np.floating[Any]], path: Path) -> float | None:
    """The frames per second of rising sample times [s], or None where they are not evenly spaced (or only one)."""
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise FileError(
            f"{path}: its times do not rise from frame to frame; pass fps= to ignore them, or export it again"
        )
    if len(times) < 2:
        return None
    step = float(times[-1] - times[0]) / (len(times) - 1)
    uneven = np.abs(times - (times[0] + step * np.arange(len(times)))).max() > _SPACING_TOLERANCE * step
    return None if uneven else round_frame_rate(1 / step)


def build_uniform_times(times: NDArray[np.floating[Any]], fps: float, path: Path) -> NDArray[np.float64]:
    """Times at `fps` from the first of `times` to the last [s]. Raises FileError where they would be absurdly many."""
    frames = float(times[-1] - times[0]) * fps + 1
    if not frames <= min(MAX_FRAMES, _MAX_FRAMES_PER_SAMPLE * len(times)):
        raise FileError(f"{path}: {len(times)} samples spread over {frames:.3g} frames; its times are damaged")
    return times[0] + np.arange(round(frames)) / fps
