"""Which averages a shell shares with its guide in the studio: hats, clusters, the scene's own, or painted by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import IndexArray
from cajole.direct.enriching import Regions, regions_clustered, regions_painted, regions_subdivided
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.progress import ProgressCallback
from cajole.scenes.enrich_scenes import EnrichScene
from cajole.studio.modes.enrich.shell_mesh import GuidedShellMesh

REGION_KINDS = ("hats", "clusters", "scene", "paint")
SIDES = ("guide", "shell")
# vertices that belong to no region
NO_REGION = -1


@dataclass(frozen=True, eq=False)
class RegionSpec:
    """What was asked for. count, seed: of clusters; guide (n̄,), shell (n,): painted regions, -1 for none."""

    kind: str = "hats"
    count: int = 24
    seed: int = 0
    guide_labels: IndexArray | None = None
    shell_labels: IndexArray | None = None

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes one zoning the same as another."""
        paint = (
            ()
            if self.guide_labels is None or self.shell_labels is None
            else (self.guide_labels.tobytes(), self.shell_labels.tobytes())
        )
        return (self.kind, *((self.count, self.seed) if self.kind == "clusters" else ()), *paint)


@dataclass(frozen=True, eq=False)
class RegionLabelling:
    """A zoning on a sheet. guide (n̄,), shell (n,): the region of each vertex, for drawing, -1 for none.

    motion: the guide that the regions follow; regions: None, with the `problem` in words, where they cannot be.
    """

    spec: RegionSpec
    guide_labels: IndexArray
    shell_labels: IndexArray
    guide_animation: Animation
    regions: Regions | None
    problem: InputError | None = None

    @property
    def region_numbers(self) -> list[int]:
        """The regions that there are, in order."""
        return [int(number) for number in np.union1d(self.guide_labels, self.shell_labels) if number >= 0]

    @property
    def covered_fraction(self) -> float:
        """The share of the shell's vertices that belong to a region."""
        return float((self.shell_labels >= 0).mean())


def build_labelling(
    shell_mesh: GuidedShellMesh, spec: RegionSpec, scene: EnrichScene | None, progress: ProgressCallback | None = None
) -> RegionLabelling:
    """The regions of a sheet; paint that does not make regions yet is kept, with what is wrong with it.

    Raises InputError for hats and clusters that the sheet cannot have, Cancelled.
    """
    if spec.kind == "paint":
        return _label_painted_regions(shell_mesh, spec)
    if spec.kind == "scene":
        if scene is None:
            raise InputError("what is open came without regions of its own; cluster them, or paint them")
        return _label_regions(shell_mesh, spec, scene.regions, shell_mesh.guide)
    if spec.kind == "clusters":
        motion = shell_mesh.interpolated_guide
        return _label_regions(
            shell_mesh, spec, regions_clustered(motion, spec.count, seed=spec.seed, progress=progress), motion
        )
    if not shell_mesh.levels:
        raise InputError("hats need a shell that is finer than its guide; subdivide it, or cluster its triangles")
    return _label_regions(
        shell_mesh, spec, regions_subdivided(shell_mesh.guide_mesh, shell_mesh.levels)[1], shell_mesh.guide
    )


def apply_brush(
    shell_mesh: GuidedShellMesh,
    labelling: RegionLabelling,
    side: str,
    nodes: list[int],
    region: int | None,
    *,
    both_sides: bool,
) -> RegionSpec:
    """The zoning after a stroke over vertices of one side. region: None for a new one, -1 to erase.

    both: what lies there on the other side goes along, where guide and shell lie on each other.
    """
    number = max(labelling.region_numbers, default=NO_REGION) + 1 if region is None else region
    if number != NO_REGION and region is not None and number not in labelling.region_numbers:
        raise InputError(f"there is no region {number}; choose one of the list, or begin a new one")
    guide, shell = labelling.guide_labels.copy(), labelling.shell_labels.copy()
    touched = np.asarray(nodes, dtype=np.int64)
    goes_along = both_sides or not shell_mesh.has_own_mesh
    if side == "guide":
        guide[touched] = number
        if goes_along and shell_mesh.nearest_guide_vertices is not None:
            shell[np.isin(shell_mesh.nearest_guide_vertices, touched)] = number
    else:
        shell[touched] = number
        if goes_along and shell_mesh.nearest_shell_vertices is not None:
            guide[np.isin(shell_mesh.nearest_shell_vertices, touched)] = number
    return build_painted_spec(shell_mesh, labelling.spec, guide, shell)


def build_painted_spec(
    shell_mesh: GuidedShellMesh, spec: RegionSpec, guide: IndexArray, shell: IndexArray
) -> RegionSpec:
    """A zoning of painted vertices; where the shell is the guide's mesh, subdivided, its paint is the guide's, too."""
    if not shell_mesh.has_own_mesh and shell_mesh.nearest_shell_vertices is not None:
        guide = shell[shell_mesh.nearest_shell_vertices]
    return replace(spec, kind="paint", guide_labels=guide, shell_labels=shell)


def remove_region_labels(shell_mesh: GuidedShellMesh, labelling: RegionLabelling, region: int) -> RegionSpec:
    """The zoning without one region: its vertices belong to none."""
    if region not in labelling.region_numbers:
        raise InputError(f"there is no region {region}; choose one of the list")
    guide, shell = (
        np.where(side == region, NO_REGION, side) for side in (labelling.guide_labels, labelling.shell_labels)
    )
    return build_painted_spec(shell_mesh, labelling.spec, guide, shell)


def transfer_spec(shell_mesh: GuidedShellMesh, labelling: RegionLabelling) -> RegionSpec:
    """Painted regions of another shell on this one, by way of the guide; other zonings stay as they are."""
    if labelling.spec.kind != "paint":
        return labelling.spec
    shell = (
        np.full(len(shell_mesh.mesh.vertices), NO_REGION)
        if shell_mesh.nearest_guide_vertices is None
        else labelling.guide_labels[shell_mesh.nearest_guide_vertices]
    )
    return build_painted_spec(shell_mesh, labelling.spec, labelling.guide_labels, shell)


def _label_painted_regions(shell_mesh: GuidedShellMesh, spec: RegionSpec) -> RegionLabelling:
    assert spec.guide_labels is not None
    assert spec.shell_labels is not None
    guide, shell = spec.guide_labels, spec.shell_labels
    motion, labels = (shell_mesh.guide, guide) if shell_mesh.has_own_mesh else (shell_mesh.interpolated_guide, shell)
    assert isinstance(motion.mesh, MeshTri)
    try:
        sides = {"guide_labels_on": "vertices", "fine_labels_on": "vertices"}
        regions = regions_painted(motion.mesh, labels, shell_mesh.mesh, shell, **sides)
    except InputError as problem:
        return RegionLabelling(spec, guide, shell, motion, None, _rephrase_problem(problem))
    return RegionLabelling(spec, guide, shell, motion, regions)


def _label_regions(
    shell_mesh: GuidedShellMesh, spec: RegionSpec, regions: Regions, motion: Animation
) -> RegionLabelling:
    guide, shell = regions.guide_labels, regions.labels
    if len(guide) != shell_mesh.guide.n:  # of the guide on the shell's triangles
        assert shell_mesh.nearest_shell_vertices is not None
        guide = guide[shell_mesh.nearest_shell_vertices]
    return RegionLabelling(spec, guide, shell, motion, regions)


def _rephrase_problem(problem: InputError) -> InputError:
    """What is wrong with paint, in the studio's words."""
    text = str(problem)
    if "paints nothing" in text:
        return InputError("no vertex belongs to a region; paint one on the guide and on the shell")
    words = (("fine mesh", "shell"), (" (regions.without, joined(..., dependent='drop'))", ""))
    for old, new in words:
        text = text.replace(old, new)
    return InputError(text)
