"""Parts of the state that several modes send to the page: lanes, markers, meter, selection, trails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.studio.content import ProjectContent

# Selected vertices whose trails are drawn; more would hide each other.
MAX_TRAILS = 4


def build_force_meter(curve: Array | None, hint: str | None = None) -> dict[str, Any]:
    """Meter of the added force (frames,) in body weights: rms, peak and its frame; hint: how to lower the peak."""
    if curve is None or not len(curve):
        return {"share": 0.0, "peak": 0.0, "frame": None, "curve": None, "cure": None}
    frame = int(np.argmax(curve))
    peak = float(curve[frame])
    has_advice = hint is not None and peak > 0
    return {
        "share": float(np.sqrt((curve**2).mean())),
        "peak": peak,
        "frame": frame if peak > 0 else None,
        "curve": to_rounded_list(curve),
        "cure": f"Peak {format_percent(peak)} at frame {frame}. {hint}".rstrip() if has_advice else None,
    }


def build_lane(
    lane_id: str, name: str, shape: str, tone: str, markers: Sequence[dict[str, Any]] = (), **more: Any
) -> dict[str, Any]:
    """One lane of the time line; more: curve and peak, or the command that adds a marker."""
    return {"id": lane_id, "name": name, "shape": shape, "tone": tone, "markers": list(markers), **more}


def build_force_lanes(curve: Array | None) -> list[dict[str, Any]]:
    """The lane of added force (frames,) in body weights; none where no force is added."""
    if curve is None or not curve.any():
        return []
    peak = float(curve.max(initial=0.0))
    return [build_lane("force", "Added force", "curve", "added", curve=to_rounded_list(curve), peak=peak)]


def build_marker(marker_id: str, frame: int, text: str, **more: Any) -> dict[str, Any]:
    """One marker of a lane; more: the optional fields of the page's `Marker`, left out where they are None."""
    given = {name: value for name, value in more.items() if value is not None}
    return {"id": marker_id, "frame": int(frame), "text": text, "movable": True, **given}


def build_selected_vertex(
    content: ProjectContent, node: int, position: Array, given: Array, *, fixed: bool = False
) -> dict[str, Any]:
    """A selected vertex: present position and position in the input [m]."""
    return {
        "node": node, "name": content.describe_vertex(node), "position": to_list(position), "given": to_list(given),
        "fixed": fixed,
    }  # fmt: skip


def build_trail(
    node: int, given: NDArray[np.floating[Any]] | None, result: NDArray[np.floating[Any]] | None
) -> dict[str, Any]:
    """Paths (frames, 3) [m] of a vertex in the input and in the result."""
    return {
        "node": node,
        "given": None if given is None else to_rounded_list(given),
        "result": [] if result is None else to_rounded_list(result),
        "rev": 0,
    }


def format_percent(fraction: float) -> str:
    """A fraction as text: "0.57 %", "34 %", "560 %"."""
    return f"{100 * fraction:.0f} %" if fraction >= 0.1 else f"{100 * fraction:.2g} %"


def to_list(point: Array | Sequence[float]) -> list[float]:
    """(3,) as plain numbers."""
    return [float(x) for x in point]


def to_rounded_list(values: NDArray[np.floating[Any]], digits: int = 6) -> list[float]:
    """Any array as a flat list of numbers, by default with more digits than any screen shows."""
    found: list[float] = np.round(np.asarray(values, dtype=np.float64).ravel(), digits).tolist()
    return found
