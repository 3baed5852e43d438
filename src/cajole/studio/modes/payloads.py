"""How modes tell the page about time, force and what is selected: the shapes of docs/studio-protocol.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array

# Selected vertices whose trails are drawn; more are a thicket.
MAX_TRAILS = 4
# digits that are left of curves and trails: finer than any screen
DIGITS = 6


def build_force_meter(curve: Array | None, advice: str | None = None) -> dict[str, Any]:
    """Added force (frames,) in body weights, as the meter shows it: its rms, its peak and where that is."""
    if curve is None or not len(curve):
        return {"share": 0.0, "peak": 0.0, "frame": None, "curve": None, "cure": None}
    peak = int(np.argmax(curve))
    return {
        "share": float(np.sqrt((curve**2).mean())),
        "peak": float(curve[peak]),
        "frame": peak if curve[peak] > 0 else None,
        "curve": to_rounded_list(curve),
        "cure": advice if curve[peak] > 0 else None,
    }


def build_force_lane(curve: Array) -> dict[str, Any]:
    """The lane of added force, (frames,) in body weights."""
    return {
        "id": "force",
        "name": "Added force",
        "shape": "curve",
        "tone": "added",
        "markers": [],
        "curve": to_rounded_list(curve),
        "peak": float(curve.max(initial=0.0)),
    }


def build_marker(marker_id: str, frame: int, text: str, **more: Any) -> dict[str, Any]:
    """One marker of a lane; more: what else `Marker` of the page has."""
    return {"id": marker_id, "frame": int(frame), "text": text, "movable": True, **more}


def find_consecutive_ranges(frames: NDArray[np.int64]) -> list[tuple[int, int]]:
    """First and last of each run of neighbouring frames."""
    found = np.unique(frames)
    if not len(found):
        return []
    breaks = np.flatnonzero(np.diff(found) > 1)
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(found) - 1]])
    return [(int(found[a]), int(found[b])) for a, b in zip(starts, ends)]


def format_percent(fraction: float) -> str:
    """A share in words: "0.57 %", "34 %", "560 %"."""
    return f"{100 * fraction:.0f} %" if fraction >= 0.1 else f"{100 * fraction:.2g} %"


def to_list(point: Array | Sequence[float]) -> list[float]:
    """(3,) as plain numbers."""
    return [float(x) for x in point]


def to_rounded_list(values: NDArray[np.floating[Any]]) -> list[float]:
    """Any array as a flat list of plain numbers, with as many digits as can be seen."""
    found: list[float] = np.round(np.asarray(values, dtype=np.float64).ravel(), DIGITS).tolist()
    return found
