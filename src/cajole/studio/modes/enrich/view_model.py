"""State of Enrich for the page: regions, and the lane of their errors."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.studio.messages import Lane
from cajole.studio.modes.enrich.messages import RegionInfo, RegionKind, RegionsInfo
from cajole.studio.modes.enrich.regions import GuidedShellMesh, RegionLabelling


def build_tracking_error_lane(errors: Array) -> Lane:
    """Largest distance of a region from its guide (frames,), in sizes of the shell; below 1e-6 it is drawn as 0."""
    curve, peak = [float(f"{error:.3g}") for error in errors], float(errors.max(initial=1e-6))
    return Lane(id="gaps", name="Off guide", shape="curve", tone="got", curve=curve, peak=peak)


def describe_regions(
    shell_mesh: GuidedShellMesh, labelling: RegionLabelling, kinds: list[RegionKind], *, max_listed: int = 40
) -> RegionsInfo:
    """Regions and the numbers of their vertices; kinds: that the shell can have."""
    numbers, spec, counts = labelling.region_numbers, labelling.spec, list[dict[int, int]]()
    for labels in (labelling.guide_labels, labelling.shell_labels):
        regions, sizes = np.unique(labels, return_counts=True)
        counts.append(dict(zip(regions.tolist(), sizes.tolist())))
    return RegionsInfo(
        kind=spec.kind,
        kinds=kinds,
        count=len(numbers if labelling.regions is None else labelling.regions),
        asked=spec.count,
        most=min(2000, len(shell_mesh.mesh.triangles) // 2),
        seed=spec.seed,
        list=[
            RegionInfo(id=number, guide=counts[0].get(number, 0), shell=counts[1].get(number, 0))
            for number in numbers[:max_listed]
        ],
        covered=float((labelling.shell_labels >= 0).mean()),
        problem=None if labelling.problem is None else str(labelling.problem).split("; ")[0],
    )
