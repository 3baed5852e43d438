"""What is kept of Enrich when the server is gone, and how it goes on from there."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Saved
from cajole.studio.modes.enrich_dials import Dials, dialled, materials_of
from cajole.studio.modes.enrich_regions import KINDS, NONE, Zoning
from cajole.studio.modes.enrich_running import Run
from cajole.studio.modes.enrich_sheet import Sheet

if TYPE_CHECKING:
    from cajole.studio.modes.enrich import EnrichMode


def saved(mode: EnrichMode) -> Saved:
    """All that the mode needs to go on."""
    zoning = mode.zones.zoning
    document: dict[str, Any] = {
        "levels": mode.sheet.levels, "dials": asdict(mode.dials), "run": None,
        "zoning": {"kind": zoning.kind, "count": zoning.count, "seed": zoning.seed},
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {}
    if zoning.guide is not None and zoning.shell is not None:
        arrays |= {"paint_guide": zoning.guide, "paint_shell": zoning.shell}
    if mode.run is not None:
        document["run"] = {"about": mode.run.about, "stale": mode.is_stale()}
        arrays |= {"positions": mode.run.positions, "gaps": mode.run.gaps}
        if mode.run.force is not None:
            arrays["force"] = mode.run.force
    return Saved(document, arrays)


def kept_levels(kept: Saved, most: int) -> int | None:
    """How often the kept guide was subdivided, None for a mesh of its own. Raises InputError."""
    levels = kept.document.get("levels")
    return None if levels is None else take.integer(kept.document, "levels", 0, most)


def kept_zoning(kept: Saved, sheet: Sheet) -> Zoning:
    """The zoning that was kept. Raises InputError for paint of other meshes."""
    document = kept.document.get("zoning")
    if not isinstance(document, dict):
        raise InputError("what was kept of the regions cannot be read; open the scene anew")
    sides: dict[str, Any] = {}
    if "paint_guide" in kept.arrays:
        sides = {
            "guide": _labels(kept, "guide", sheet.guide.n),
            "shell": _labels(kept, "shell", len(sheet.mesh.vertices)),
        }
    kind = take.one_of(document, "kind", KINDS)
    if kind == "paint" and not sides:
        raise InputError("the paint of the regions was not kept; open the scene anew")
    return Zoning(kind, take.integer(document, "count", 1), take.integer(document, "seed"), **sides)


def kept_dials(mode: EnrichMode, kept: Saved, begin: Dials) -> Dials:
    """The dials that were kept."""
    document = kept.document.get("dials")
    if not isinstance(document, dict):
        raise InputError("what was kept of the material cannot be read; open the scene anew")
    material = take.one_of(document, "material", tuple(materials_of(mode.scene)))
    return replace(dialled(begin, document), material=material)


def kept_run(kept: Saved, sheet: Sheet) -> tuple[Run, bool] | None:
    """The frames that were kept, and whether they are of older settings; None where there were none."""
    document = kept.document.get("run")
    if document is None or "positions" not in kept.arrays:
        return None
    positions = checks.real_array(kept.arrays["positions"], "the kept frames", (None, len(sheet.mesh.vertices), 3))
    frames = len(positions)
    gaps = checks.real_array(kept.arrays["gaps"], "the kept curve of regions", (frames,))
    force = kept.arrays.get("force")
    if force is not None:
        force = checks.real_array(force, "the kept curve of force", (frames,))
    return Run(positions, gaps, force, dict(document["about"])), bool(document["stale"])


def _labels(kept: Saved, side: str, count: int) -> NDArray[np.int64]:
    found = np.asarray(kept.arrays[f"paint_{side}"])
    if found.shape != (count,) or found.dtype.kind not in "iu" or (found < NONE).any():
        raise InputError(f"the kept paint of the {side} is not a region for each of its {count} vertices; open it anew")
    return found.astype(np.int64)
