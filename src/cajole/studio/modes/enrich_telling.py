"""What the page is told of a shell and its guide: lanes, meter, regions, and the panel's values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.studio.modes.enrich_dials import materials_of
from cajole.studio.modes.enrich_running import Run
from cajole.studio.modes.enrich_sheet import most_levels
from cajole.studio.modes.telling import force_lane, meter, percent

if TYPE_CHECKING:
    from cajole.studio.modes.enrich import EnrichMode


# regions that stand in the list; more are only counted
MOST_LISTED = 40
# less than this, in sizes of the shell, is drawn as nothing
NOTHING = 1e-6


def told(mode: EnrichMode) -> dict[str, Any]:
    """The state of the mode."""
    shown = mode.shown
    force = None if shown is None else shown.force
    lanes = [_gap_lane(shown)]
    if force is not None and force.any():
        lanes.append(force_lane(force))
    return {
        "lanes": lanes,
        "meter": meter(None) if force is None else meter(force, _cure(force)),
        "selection": [],
        "trails": [],
        "labels": {"now": "Guide", "result": _result_label(mode)},
        "ready": None if shown is None else shown.frames,
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "enrich": _panel(mode),
    }


def _gap_lane(shown: Run | None) -> dict[str, Any]:
    """How far regions are off their guide, frame by frame, in sizes of the shell."""
    gaps = np.zeros(0) if shown is None else shown.gaps
    return {
        "id": "gaps",
        "name": "Off guide",
        "shape": "curve",
        "tone": "got",
        "markers": [],
        "curve": [float(f"{gap:.3g}") for gap in gaps],
        "peak": float(gaps.max(initial=NOTHING)),
    }


def _result_label(mode: EnrichMode) -> str:
    if mode.running is not None:
        return "Shell · enriching"
    if mode.is_free:
        return "Shell · without its guide"
    if mode.run is None:
        return "Shell · on its guide"
    return "Shell · of older settings" if mode.is_stale() else "Shell"


def _panel(mode: EnrichMode) -> dict[str, Any]:
    sheet, zones = mode.sheet, mode.zones
    crossed = np.asarray(mode.crossed, dtype=np.int64)
    return {
        "guide": {"vertices": mode.guide.n, "frames": mode.guide.frames},
        "shell": {
            "vertices": len(sheet.mesh.vertices),
            "triangles": len(sheet.mesh.triangles),
            "levels": sheet.levels,
            "most_levels": most_levels(mode.guide),
            "own": mode.own_levels is None and mode.scene is not None,
            "lies": sheet.lift is not None,
            "still": len(sheet.still),
        },
        "regions": {
            "kind": zones.zoning.kind,
            "kinds": mode.kinds(),
            "count": len(zones.numbers if zones.regions is None else zones.regions),
            "asked": zones.zoning.count,
            "most": min(2000, len(sheet.mesh.triangles) // 2),
            "seed": zones.zoning.seed,
            "list": _regions(mode),
            "covered": zones.covered,
            "problem": None if zones.problem is None else str(zones.problem).split("; ")[0],
        },
        "dials": asdict(mode.dials),
        "materials": [{"name": name, "text": text} for name, text in materials_of(mode.scene).items()],
        "extras": mode.extras(),
        "collidable": mode.scene is not None and len(mode.scene.colliders) > 0,
        "running": mode.running,
        "sight": "free" if mode.is_free else "led",
        "free": mode.free.about["off"] if mode.is_free and mode.free is not None else None,
        "result": None if mode.run is None else _result(mode, mode.run),
        "crossed": {"shell": crossed.tolist(), "guide": sheet.guide_faces(crossed).tolist()},
    }


def _regions(mode: EnrichMode) -> list[dict[str, Any]]:
    zones = mode.zones
    counted = [dict(zip(*(part.tolist() for part in np.unique(side, return_counts=True)))) for side in _sides(mode)]
    return [
        {"id": number, "guide": counted[0].get(number, 0), "shell": counted[1].get(number, 0)}
        for number in zones.numbers[:MOST_LISTED]
    ]


def _sides(mode: EnrichMode) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return mode.zones.guide, mode.zones.shell


def _result(mode: EnrichMode, made: Run) -> dict[str, Any]:
    named = ("text", "off", "cut", "report", "seconds", "collisions", "intersections")
    return {name: made.about.get(name) for name in named} | {"frames": made.frames, "stale": mode.is_stale()}


def _cure(force: Array) -> str:
    """One sentence: the peak, and the cheapest way to lower it."""
    peak = int(np.argmax(force))
    return f"Peak {percent(force[peak])} at frame {peak}. Fewer or larger regions lead more gently."
