"""Parts of the state that several modes send to the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.studio.content import ProjectContent
from cajole.studio.messages import ForceMeter, Lane, SelectedVertex, Trail
from cajole.studio.protocol import Vec3

# Selected vertices whose trails are drawn; more would hide each other.
MAX_TRAILS = 4


def build_force_meter(curve: Array | None, hint: str | None = None) -> ForceMeter:
    """Meter of the added force (frames,) in body weights: rms, peak and its frame; hint: how to lower the peak."""
    if curve is None or not len(curve):
        return ForceMeter(share=0.0, peak=0.0, frame=None, curve=None, cure=None)
    frame = int(np.argmax(curve))
    peak = float(curve[frame])
    has_advice = hint is not None and peak > 0
    return ForceMeter(
        share=float(np.sqrt((curve**2).mean())),
        peak=peak,
        frame=frame if peak > 0 else None,
        curve=to_rounded_list(curve),
        cure=f"Peak {format_percent(peak)} at frame {frame}. {hint}".rstrip() if has_advice else None,
    )


def build_force_lanes(curve: Array | None) -> list[Lane]:
    """The lane of added force (frames,) in body weights; none where no force is added."""
    if curve is None or not curve.any():
        return []
    peak, values = float(curve.max(initial=0.0)), to_rounded_list(curve)
    return [Lane(id="force", name="Added force", shape="curve", tone="added", curve=values, peak=peak)]


def build_selected_vertex(
    content: ProjectContent, node: int, position: Array, given: Array, *, fixed: bool = False
) -> SelectedVertex:
    """A selected vertex: present position and position in the input (3,) [m]."""
    name = content.describe_vertex(node)
    return SelectedVertex(node=node, name=name, position=to_vec3(position), given=to_vec3(given), fixed=fixed)


def build_trail(node: int, given: NDArray[np.floating[Any]] | None, result: NDArray[np.floating[Any]] | None) -> Trail:
    """Paths (frames, 3) [m] of a vertex in the input and in the result."""
    path = [] if result is None else to_rounded_list(result)
    return Trail(node=node, given=None if given is None else to_rounded_list(given), result=path)


def format_percent(fraction: float) -> str:
    """A fraction as text: "0.57 %", "34 %", "560 %"."""
    return f"{100 * fraction:.0f} %" if fraction >= 0.1 else f"{100 * fraction:.2g} %"


def to_vec3(point: NDArray[np.floating[Any]] | Sequence[float]) -> Vec3:
    """(3,) as plain numbers."""
    x, y, z = point
    return float(x), float(y), float(z)


def to_rounded_list(values: NDArray[np.floating[Any]], digits: int = 6) -> list[float]:
    """Any array as a flat list of numbers, by default with more digits than any screen shows."""
    found: list[float] = np.round(np.asarray(values, dtype=np.float64).ravel(), digits).tolist()
    return found
