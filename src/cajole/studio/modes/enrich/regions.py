"""The shell's mesh on its guide, and the regions that both share: hats, clusters, the scene's own, or painted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.setup import find_static_vertices
from cajole.direct.enriching import Regions, regions_clustered, regions_painted, regions_subdivided
from cajole.errors import InputError
from cajole.mesh import MeshTri, subdivide
from cajole.progress import ProgressCallback
from cajole.scenes.enrich_scenes import EnrichScene
from cajole.studio.modes.enrich.messages import RegionKind, Side

# Subdivisions that the page offers.
MAX_LEVELS = 5
# Label of vertices without a region.
NO_REGION = -1


@dataclass(frozen=True, eq=False)
class GuidedShellMesh:
    """The shell's mesh beside its guide; levels: subdivisions of the guide, None for a mesh of its own.

    interpolation (n, n̄): the shell's vertices as averages of the guide's; None if the meshes do not lie on each other.
    """

    guide: Animation
    mesh: MeshTri
    levels: int | None
    interpolation: sp.csr_array | None

    @staticmethod
    def from_guide(guide: Animation, levels: int) -> GuidedShellMesh:
        """Subdivide the guide's mesh `levels` times."""
        assert isinstance(guide.mesh, MeshTri)
        mesh, interpolation = subdivide(guide.mesh, levels=levels)
        return GuidedShellMesh(guide, mesh if levels else guide.mesh, levels, sp.csr_array(interpolation))

    @staticmethod
    def from_scene(guide: Animation, scene: EnrichScene) -> GuidedShellMesh:
        """The scene's own mesh, with its levels where it is a subdivision of the guide."""
        fine, coarse_count = scene.regions.fine_mesh, len(scene.regions.guide_mesh.triangles)
        for levels in range(MAX_LEVELS + 1):
            if len(fine.triangles) == coarse_count * 4**levels:
                subdivided = GuidedShellMesh.from_guide(guide, levels)
                if np.array_equal(subdivided.mesh.triangles, fine.triangles):
                    return replace(subdivided, mesh=fine)
        return GuidedShellMesh(guide, fine, None, scene.regions.interpolation)

    @property
    def guide_mesh(self) -> MeshTri:
        assert isinstance(self.guide.mesh, MeshTri)
        return self.guide.mesh

    @cached_property
    def nearest_guide_vertices(self) -> IndexArray | None:
        """(n,) the guide's vertex with the greatest weight in each of the shell's."""
        return None if self.interpolation is None else _find_argmax(self.interpolation, axis=1)

    @cached_property
    def nearest_shell_vertices(self) -> IndexArray | None:
        """(n̄,) the shell's vertex on, or nearest to, each of the guide's."""
        return None if self.interpolation is None else _find_argmax(self.interpolation, axis=0)

    @cached_property
    def interpolated_guide(self) -> Animation:
        """The guide's motion on the shell's mesh. Raises InputError where it does not lie on the guide."""
        if self.levels == 0:
            return self.guide
        if self.interpolation is None:
            raise InputError("the shell's mesh does not lie on the guide; paint what belongs together on both instead")
        positions = np.stack([self.interpolate_frame(frame) for frame in range(self.guide.frames)])
        return replace(self.guide, mesh=self.mesh, positions=positions, velocities=None, contacts=None, skin=None)

    @cached_property
    def still_vertices(self) -> IndexArray:
        """The shell's vertices that depend only on vertices of the guide that never move."""
        static = find_static_vertices(self.guide)
        if static is None or self.interpolation is None:
            return np.empty(0, dtype=np.int64)
        moves = np.ones(self.guide.n)
        moves[static[(self.guide.frame(0)[static] == self.guide_mesh.vertices[static]).all(axis=1)]] = 0.0
        return np.flatnonzero(abs(self.interpolation) @ moves == 0.0)

    def interpolate_frame(self, frame: int) -> Array:
        """(n, 3) [m] the shell on a frame of the guide; at rest if it does not lie on the guide."""
        if self.interpolation is None:
            return np.asarray(self.mesh.vertices)
        return np.asarray(self.interpolation @ self.guide.frame(min(frame, self.guide.frames - 1)))


def _find_argmax(matrix: sp.csr_array, *, axis: int) -> IndexArray:
    return np.asarray(matrix.argmax(axis=axis)).ravel().astype(np.int64)


def compute_max_levels(guide: Animation, *, max_triangles: int = 60_000) -> int:
    """Greatest number of subdivisions that leaves a shell small enough to simulate interactively."""
    count = len(guide.mesh.surface.triangles)
    return max(level for level in range(MAX_LEVELS + 1) if level == 0 or count * 4**level <= max_triangles)


def choose_initial_levels(guide: Animation, *, min_triangles: int = 3000) -> int:
    """Smallest number of subdivisions that gives enough triangles for folds."""
    count, most = len(guide.mesh.surface.triangles), compute_max_levels(guide)
    return next((level for level in range(most) if count * 4**level >= min_triangles), most)


@dataclass(frozen=True, eq=False)
class RegionSpec:
    """Requested regions; count, seed: of clusters; guide_labels (n̄,), shell_labels (n,): painted, -1 for none."""

    kind: RegionKind = "hats"
    count: int = 24
    seed: int = 0
    guide_labels: IndexArray | None = None
    shell_labels: IndexArray | None = None

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for specs that give the same regions."""
        clusters = (self.count, self.seed) if self.kind == "clusters" else ()
        if self.guide_labels is None or self.shell_labels is None:
            return self.kind, *clusters
        return self.kind, *clusters, self.guide_labels.tobytes(), self.shell_labels.tobytes()


@dataclass(frozen=True, eq=False)
class RegionLabelling:
    """Regions on a shell; guide_labels (n̄,), shell_labels (n,): region of each vertex, -1 for none.

    guide_animation: the motion that the regions follow; regions: None where the paint makes none, because of `problem`.
    """

    spec: RegionSpec
    guide_labels: IndexArray
    shell_labels: IndexArray
    guide_animation: Animation
    regions: Regions | None
    problem: InputError | None = None

    @property
    def region_numbers(self) -> list[int]:
        """Numbers of all regions, sorted."""
        return [int(number) for number in np.union1d(self.guide_labels, self.shell_labels) if number >= 0]


def build_labelling(
    shell_mesh: GuidedShellMesh, spec: RegionSpec, scene: EnrichScene | None, progress: ProgressCallback | None = None
) -> RegionLabelling:
    """The regions of a shell; paint that does not make regions yet is kept, with its problem.

    Raises InputError for hats and clusters that the shell cannot have, Cancelled.
    """
    motion = shell_mesh.guide
    if spec.kind == "paint":
        return _label_painted_regions(shell_mesh, spec)
    if spec.kind == "scene":
        if scene is None:
            raise InputError("what is open came without regions of its own; cluster them, or paint them")
        regions = scene.regions
    elif spec.kind == "clusters":
        motion = shell_mesh.interpolated_guide
        regions = regions_clustered(motion, spec.count, seed=spec.seed, progress=progress)
    else:
        if not shell_mesh.levels:
            raise InputError("hats need a shell that is finer than its guide; subdivide it, or cluster its triangles")
        regions = regions_subdivided(shell_mesh.guide_mesh, shell_mesh.levels)[1]
    guide_labels = regions.guide_labels
    if len(guide_labels) != shell_mesh.guide.n:  # of the guide on the shell's mesh
        assert shell_mesh.nearest_shell_vertices is not None
        guide_labels = guide_labels[shell_mesh.nearest_shell_vertices]
    return RegionLabelling(spec, guide_labels, regions.labels, motion, regions)


def _label_painted_regions(shell_mesh: GuidedShellMesh, spec: RegionSpec) -> RegionLabelling:
    guide, shell, motion = spec.guide_labels, spec.shell_labels, shell_mesh.guide
    assert guide is not None
    assert shell is not None
    labels = guide
    if shell_mesh.levels is not None:
        motion, labels = shell_mesh.interpolated_guide, shell
    assert isinstance(motion.mesh, MeshTri)
    try:
        sides = {"guide_labels_on": "vertices", "fine_labels_on": "vertices"}
        regions = regions_painted(motion.mesh, labels, shell_mesh.mesh, shell, **sides)
    except InputError as problem:  # in the words of the studio
        text = str(problem).replace("fine mesh", "shell")
        text = text.replace(" (regions.without, joined(..., dependent='drop'))", "")
        if "paints nothing" in text:
            text = "no vertex belongs to a region; paint one on the guide and on the shell"
        return RegionLabelling(spec, guide, shell, motion, None, InputError(text))
    return RegionLabelling(spec, guide, shell, motion, regions)


def apply_brush(
    shell_mesh: GuidedShellMesh,
    labelling: RegionLabelling,
    side: Side,
    nodes: list[int],
    region: int | None,
    *,
    both_sides: bool,
) -> RegionSpec:
    """Regions after a stroke over vertices of one side; region: None for a new one, -1 to erase.

    both_sides: paint the vertices there on the other side as well, where guide and shell lie on each other.
    """
    numbers = labelling.region_numbers
    number = max(numbers, default=NO_REGION) + 1 if region is None else region
    if number != NO_REGION and region is not None and number not in numbers:
        raise InputError(f"there is no region {region}; choose one of the list, or begin a new one")
    labels = {"guide": labelling.guide_labels.copy(), "shell": labelling.shell_labels.copy()}
    nearest = {"guide": shell_mesh.nearest_shell_vertices, "shell": shell_mesh.nearest_guide_vertices}
    other = "shell" if side == "guide" else "guide"
    labels[side][nodes] = number
    if (both_sides or shell_mesh.levels is not None) and (links := nearest[other]) is not None:
        labels[other][np.isin(links, nodes)] = number
    return build_painted_spec(shell_mesh, labelling.spec, labels["guide"], labels["shell"])


def build_painted_spec(
    shell_mesh: GuidedShellMesh, spec: RegionSpec, guide_labels: IndexArray, shell_labels: IndexArray
) -> RegionSpec:
    """Painted regions; on a subdivided guide the paint of the shell decides that of the guide."""
    if shell_mesh.levels is not None and shell_mesh.nearest_shell_vertices is not None:
        guide_labels = shell_labels[shell_mesh.nearest_shell_vertices]
    return replace(spec, kind="paint", guide_labels=guide_labels, shell_labels=shell_labels)


def remove_region_labels(shell_mesh: GuidedShellMesh, labelling: RegionLabelling, region: int) -> RegionSpec:
    """Regions without one: its vertices belong to none."""
    if region not in labelling.region_numbers:
        raise InputError(f"there is no region {region}; choose one of the list")
    sides = labelling.guide_labels, labelling.shell_labels
    guide, shell = (np.where(labels == region, NO_REGION, labels) for labels in sides)
    return build_painted_spec(shell_mesh, labelling.spec, guide, shell)


def transfer_spec(shell_mesh: GuidedShellMesh, labelling: RegionLabelling) -> RegionSpec:
    """Regions painted on another shell, on this one by way of the guide; other regions stay as requested."""
    if labelling.spec.kind != "paint":
        return labelling.spec
    nearest = shell_mesh.nearest_guide_vertices
    shell = np.full(len(shell_mesh.mesh.vertices), NO_REGION) if nearest is None else labelling.guide_labels[nearest]
    return build_painted_spec(shell_mesh, labelling.spec, labelling.guide_labels, shell)
