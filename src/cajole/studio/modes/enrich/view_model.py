"""State of Enrich for the page: regions, and the lane of their errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.studio.modes.enrich.regions import GuidedShellMesh, RegionLabelling
from cajole.studio.modes.payloads import build_lane


def build_tracking_error_lane(errors: Array) -> dict[str, Any]:
    """Largest distance of a region from its guide (frames,), in sizes of the shell; below 1e-6 it is drawn as 0."""
    curve = [float(f"{error:.3g}") for error in errors]
    return build_lane("gaps", "Off guide", "curve", "got", curve=curve, peak=float(errors.max(initial=1e-6)))


def describe_regions(
    shell_mesh: GuidedShellMesh, labelling: RegionLabelling, kinds: list[str], *, max_listed: int = 40
) -> dict[str, Any]:
    """Regions and the numbers of their vertices; kinds: that the shell can have."""
    numbers, spec = labelling.region_numbers, labelling.spec
    counts = [
        dict(zip(*(part.tolist() for part in np.unique(labels, return_counts=True))))
        for labels in (labelling.guide_labels, labelling.shell_labels)
    ]
    return {
        "kind": spec.kind,
        "kinds": kinds,
        "count": len(numbers if labelling.regions is None else labelling.regions),
        "asked": spec.count,
        "most": min(2000, len(shell_mesh.mesh.triangles) // 2),
        "seed": spec.seed,
        "list": [
            {"id": number, "guide": counts[0].get(number, 0), "shell": counts[1].get(number, 0)}
            for number in numbers[:max_listed]
        ],
        "covered": float((labelling.shell_labels >= 0).mean()),
        "problem": None if labelling.problem is None else str(labelling.problem).split("; ")[0],
    }
