"""What the page is told of a shell and its guide: lanes, meter, regions, and the panel's values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.studio.modes.enrich.run import ShellRun
from cajole.studio.modes.enrich.settings import list_materials
from cajole.studio.modes.enrich.shell_mesh import compute_max_levels
from cajole.studio.modes.payloads import build_force_lane, build_force_meter, format_percent

if TYPE_CHECKING:
    from cajole.studio.modes.enrich.mode import EnrichMode


# regions that stand in the list; more are only counted
MAX_LISTED_REGIONS = 40
# less than this, in sizes of the shell, is drawn as nothing
MIN_CURVE_PEAK = 1e-6


def build_enrich_state(mode: EnrichMode) -> dict[str, Any]:
    """The state of the mode."""
    shown = mode.shown_run
    force = None if shown is None else shown.added_force
    lanes = [_build_tracking_error_lane(shown)]
    if force is not None and force.any():
        lanes.append(build_force_lane(force))
    return {
        "lanes": lanes,
        "meter": build_force_meter(None) if force is None else build_force_meter(force, _describe_force_peak(force)),
        "selection": [],
        "trails": [],
        "labels": {"now": "Guide", "result": _format_result_label(mode)},
        "ready": None if shown is None else shown.frames,
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "enrich": _build_panel(mode),
    }


def _build_tracking_error_lane(run: ShellRun | None) -> dict[str, Any]:
    """How far regions are off their guide, frame by frame, in sizes of the shell."""
    gaps = np.zeros(0) if run is None else run.tracking_errors
    return {
        "id": "gaps",
        "name": "Off guide",
        "shape": "curve",
        "tone": "got",
        "markers": [],
        "curve": [float(f"{gap:.3g}") for gap in gaps],
        "peak": float(gaps.max(initial=MIN_CURVE_PEAK)),
    }


def _format_result_label(mode: EnrichMode) -> str:
    if mode.running_job is not None:
        return "Shell · enriching"
    if mode.is_untracked_run_visible:
        return "Shell · without its guide"
    if mode.tracked_run is None:
        return "Shell · on its guide"
    return "Shell · of older settings" if mode.is_stale() else "Shell"


def _build_panel(mode: EnrichMode) -> dict[str, Any]:
    sheet, zones = mode.shell_mesh, mode.region_labelling
    crossed = np.asarray(mode.crossing_triangles, dtype=np.int64)
    return {
        "guide": {"vertices": mode.guide.n, "frames": mode.guide.frames},
        "shell": {
            "vertices": len(sheet.mesh.vertices),
            "triangles": len(sheet.mesh.triangles),
            "levels": sheet.levels,
            "most_levels": compute_max_levels(mode.guide),
            "own": mode.scene_levels is None and mode.scene is not None,
            "lies": sheet.interpolation is not None,
            "still": len(sheet.still_vertices),
        },
        "regions": {
            "kind": zones.spec.kind,
            "kinds": mode.list_region_kinds(),
            "count": len(zones.region_numbers if zones.regions is None else zones.regions),
            "asked": zones.spec.count,
            "most": min(2000, len(sheet.mesh.triangles) // 2),
            "seed": zones.spec.seed,
            "list": _list_regions(mode),
            "covered": zones.covered_fraction,
            "problem": None if zones.problem is None else str(zones.problem).split("; ")[0],
        },
        "dials": asdict(mode.settings),
        "materials": [{"name": name, "text": text} for name, text in list_materials(mode.scene).items()],
        "extras": mode.has_scene_loads(),
        "collidable": mode.scene is not None and len(mode.scene.colliders) > 0,
        "running": mode.running_job,
        "sight": "free" if mode.is_untracked_run_visible else "led",
        "free": mode.untracked_run.summary["off"]
        if mode.is_untracked_run_visible and mode.untracked_run is not None
        else None,
        "result": None if mode.tracked_run is None else _describe_result(mode, mode.tracked_run),
        "crossed": {"shell": crossed.tolist(), "guide": sheet.find_guide_triangles(crossed).tolist()},
    }


def _list_regions(mode: EnrichMode) -> list[dict[str, Any]]:
    zones = mode.region_labelling
    counted = [
        dict(zip(*(part.tolist() for part in np.unique(side, return_counts=True)))) for side in _get_labels(mode)
    ]
    return [
        {"id": number, "guide": counted[0].get(number, 0), "shell": counted[1].get(number, 0)}
        for number in zones.region_numbers[:MAX_LISTED_REGIONS]
    ]


def _get_labels(mode: EnrichMode) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return mode.region_labelling.guide_labels, mode.region_labelling.shell_labels


def _describe_result(mode: EnrichMode, run: ShellRun) -> dict[str, Any]:
    named = ("text", "off", "cut", "report", "seconds", "collisions", "intersections")
    return {name: run.summary.get(name) for name in named} | {"frames": run.frames, "stale": mode.is_stale()}


def _describe_force_peak(force: Array) -> str:
    """One sentence: the peak, and the cheapest way to lower it."""
    peak = int(np.argmax(force))
    return f"Peak {format_percent(force[peak])} at frame {peak}. Fewer or larger regions lead more gently."
