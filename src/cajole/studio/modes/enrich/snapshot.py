"""What is kept of Enrich when the server is gone, and how it goes on from there."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.enrich.region_labels import NO_REGION, REGION_KINDS, RegionSpec
from cajole.studio.modes.enrich.run import ShellRun
from cajole.studio.modes.enrich.settings import EnrichModeSettings, list_materials, update_settings
from cajole.studio.modes.enrich.shell_mesh import GuidedShellMesh

if TYPE_CHECKING:
    from cajole.studio.modes.enrich.mode import EnrichMode


def create_snapshot(mode: EnrichMode) -> ModeSnapshot:
    """All that the mode needs to go on."""
    zoning = mode.region_labelling.spec
    document: dict[str, Any] = {
        "levels": mode.shell_mesh.levels, "dials": asdict(mode.settings), "run": None,
        "zoning": {"kind": zoning.kind, "count": zoning.count, "seed": zoning.seed},
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {}
    if zoning.guide_labels is not None and zoning.shell_labels is not None:
        arrays |= {"paint_guide": zoning.guide_labels, "paint_shell": zoning.shell_labels}
    if mode.tracked_run is not None:
        document["run"] = {"about": mode.tracked_run.summary, "stale": mode.is_stale()}
        arrays |= {"positions": mode.tracked_run.positions, "gaps": mode.tracked_run.tracking_errors}
        if mode.tracked_run.added_force is not None:
            arrays["force"] = mode.tracked_run.added_force
    return ModeSnapshot(document, arrays)


def read_levels(snapshot: ModeSnapshot, max_levels: int) -> int | None:
    """How often the kept guide was subdivided, None for a mesh of its own. Raises InputError."""
    levels = snapshot.document.get("levels")
    return None if levels is None else message_values.read_integer(snapshot.document, "levels", 0, max_levels)


def read_region_spec(snapshot: ModeSnapshot, shell_mesh: GuidedShellMesh) -> RegionSpec:
    """The zoning that was kept. Raises InputError for paint of other meshes."""
    document = snapshot.document.get("zoning")
    if not isinstance(document, dict):
        raise InputError("what was kept of the regions cannot be read; open the scene anew")
    sides: dict[str, Any] = {}
    if "paint_guide" in snapshot.arrays:
        sides = {
            "guide_labels": _read_labels(snapshot, "guide", shell_mesh.guide.n),
            "shell_labels": _read_labels(snapshot, "shell", len(shell_mesh.mesh.vertices)),
        }
    kind = message_values.read_choice(document, "kind", REGION_KINDS)
    if kind == "paint" and not sides:
        raise InputError("the paint of the regions was not kept; open the scene anew")
    return RegionSpec(
        kind, message_values.read_integer(document, "count", 1), message_values.read_integer(document, "seed"), **sides
    )


def read_settings(mode: EnrichMode, snapshot: ModeSnapshot, initial: EnrichModeSettings) -> EnrichModeSettings:
    """The dials that were kept."""
    document = snapshot.document.get("dials")
    if not isinstance(document, dict):
        raise InputError("what was kept of the material cannot be read; open the scene anew")
    material = message_values.read_choice(document, "material", tuple(list_materials(mode.scene)))
    return replace(update_settings(initial, document), material=material)


def read_run(snapshot: ModeSnapshot, shell_mesh: GuidedShellMesh) -> tuple[ShellRun, bool] | None:
    """The frames that were kept, and whether they are of older settings; None where there were none."""
    document = snapshot.document.get("run")
    if document is None or "positions" not in snapshot.arrays:
        return None
    positions = checks.require_real_array(
        snapshot.arrays["positions"], "the kept frames", (None, len(shell_mesh.mesh.vertices), 3)
    )
    frames = len(positions)
    gaps = checks.require_real_array(snapshot.arrays["gaps"], "the kept curve of regions", (frames,))
    force = snapshot.arrays.get("force")
    if force is not None:
        force = checks.require_real_array(force, "the kept curve of force", (frames,))
    return ShellRun(positions, gaps, force, dict(document["about"])), bool(document["stale"])


def _read_labels(snapshot: ModeSnapshot, side: str, count: int) -> NDArray[np.int64]:
    found = np.asarray(snapshot.arrays[f"paint_{side}"])
    if found.shape != (count,) or found.dtype.kind not in "iu" or (found < NO_REGION).any():
        raise InputError(f"the kept paint of the {side} is not a region for each of its {count} vertices; open it anew")
    return found.astype(np.int64)
