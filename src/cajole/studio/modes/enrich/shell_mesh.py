"""What a guide becomes: the triangles of the shell that follows it, and how they lie on the guide's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.setup import find_static_vertices
from cajole.errors import InputError
from cajole.mesh import MeshTri, subdivide
from cajole.scenes.enrich_scenes import EnrichScene

# levels that a slider offers, and the triangles beyond which a shell is no work for a sitting
MAX_LEVELS, MAX_TRIANGLES = 5, 60_000
# a guide of fewer triangles than this is subdivided at first until it has as many
INITIAL_TRIANGLES = 3000


@dataclass(frozen=True, eq=False)
class GuidedShellMesh:
    """The shell's mesh beside its guide. levels: how often the guide's edges were halved, None for a mesh of its own.

    lift (n, n̄): the shell's vertices as averages of the guide's; None where the two do not lie on each other.
    """

    guide: Animation
    mesh: MeshTri
    levels: int | None
    interpolation: sp.csr_array | None

    @property
    def guide_mesh(self) -> MeshTri:
        """The guide's mesh."""
        assert isinstance(self.guide.mesh, MeshTri)
        return self.guide.mesh

    @property
    def has_own_mesh(self) -> bool:
        """Whether guide and shell are two meshes, each with paint of its own."""
        return self.levels is None

    @cached_property
    def nearest_guide_vertices(self) -> IndexArray | None:
        """(n,) the guide's vertex that each of the shell's belongs to: the one that weighs most."""
        return (
            None
            if self.interpolation is None
            else np.asarray(self.interpolation.argmax(axis=1)).ravel().astype(np.int64)
        )

    @cached_property
    def nearest_shell_vertices(self) -> IndexArray | None:
        """(n̄,) the shell's vertex that lies on, or nearest to, each of the guide's."""
        return (
            None
            if self.interpolation is None
            else np.asarray(self.interpolation.argmax(axis=0)).ravel().astype(np.int64)
        )

    @cached_property
    def interpolated_guide(self) -> Animation:
        """The guide's motion on the shell's own triangles. Raises InputError where it does not lie on them."""
        if self.levels == 0:
            return self.guide
        if self.interpolation is None:
            raise InputError("the shell's mesh does not lie on the guide; paint what belongs together on both instead")
        positions = np.stack([self.interpolate_frame(frame) for frame in range(self.guide.frames)])
        return replace(self.guide, mesh=self.mesh, positions=positions, velocities=None, contacts=None, skin=None)

    @cached_property
    def still_vertices(self) -> IndexArray:
        """Vertices of the shell that lie on vertices of the guide that never leave their places."""
        found = find_static_vertices(self.guide)
        if found is None or self.interpolation is None:
            return np.empty(0, dtype=np.int64)
        moves = np.ones(self.guide.n)
        moves[found[(self.guide.frame(0)[found] == self.guide_mesh.vertices[found]).all(axis=1)]] = 0.0
        return np.flatnonzero(abs(self.interpolation) @ moves == 0.0)

    def interpolate_frame(self, frame: int) -> Array:
        """(n, 3) [m] the shell as it lies on a frame of the guide; at rest where it does not lie on it."""
        if self.interpolation is None:
            return np.asarray(self.mesh.vertices)
        return np.asarray(self.interpolation @ self.guide.frame(min(frame, self.guide.frames - 1)))

    def find_guide_triangles(self, faces: IndexArray) -> IndexArray:
        """The guide's triangles that some of the shell's lie in; none of a mesh of its own."""
        return np.empty(0, dtype=np.int64) if self.levels is None else np.unique(faces // 4**self.levels)


def compute_max_levels(guide: Animation) -> int:
    """How often the guide's edges can be halved before the shell is too large to work with."""
    count = len(guide.mesh.surface.triangles)
    return max(level for level in range(MAX_LEVELS + 1) if level == 0 or count * 4**level <= MAX_TRIANGLES)


def choose_initial_levels(guide: Animation) -> int:
    """Levels to begin with: as many as it takes to have triangles for folds."""
    count, most = len(guide.mesh.surface.triangles), compute_max_levels(guide)
    return next((level for level in range(most) if count * 4**level >= INITIAL_TRIANGLES), most)


def subdivide_guide(guide: Animation, levels: int) -> GuidedShellMesh:
    """The guide's triangles with every edge halved `levels` times."""
    assert isinstance(guide.mesh, MeshTri)
    mesh, lift = subdivide(guide.mesh, levels=levels)
    return GuidedShellMesh(guide, mesh if levels else guide.mesh, levels, sp.csr_array(lift))


def build_scene_mesh(guide: Animation, scene: EnrichScene) -> GuidedShellMesh:
    """The mesh that a scene made for its guide; with its levels where it is a subdivision."""
    fine = scene.regions.fine_mesh
    for levels in range(MAX_LEVELS + 1):
        count = len(scene.regions.guide_mesh.triangles) * 4**levels
        if len(fine.triangles) == count and np.array_equal(
            subdivide_guide(guide, levels).mesh.triangles, fine.triangles
        ):
            return replace(subdivide_guide(guide, levels), mesh=fine)
    return GuidedShellMesh(guide, fine, None, scene.regions.interpolation)
