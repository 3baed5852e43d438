"""What a guide becomes: the triangles of the shell that follows it, and how they lie on the guide's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.opening import still_vertices
from cajole.errors import InputError
from cajole.mesh import MeshTri, subdivide
from cajole.scenes.enriching import EnrichScene

# levels that a slider offers, and the triangles beyond which a shell is no work for a sitting
MOST_LEVELS, MOST_TRIANGLES = 5, 60_000
# a guide of fewer triangles than this is subdivided at first until it has as many
WANTED_TRIANGLES = 3000


@dataclass(frozen=True, eq=False)
class Sheet:
    """The shell's mesh beside its guide. levels: how often the guide's edges were halved, None for a mesh of its own.

    lift (n, n̄): the shell's vertices as averages of the guide's; None where the two do not lie on each other.
    """

    guide: Animation
    mesh: MeshTri
    levels: int | None
    lift: sp.csr_array | None

    @property
    def coarse(self) -> MeshTri:
        """The guide's mesh."""
        assert isinstance(self.guide.mesh, MeshTri)
        return self.guide.mesh

    @property
    def is_paired(self) -> bool:
        """Whether guide and shell are two meshes, each with paint of its own."""
        return self.levels is None

    @cached_property
    def owners(self) -> IndexArray | None:
        """(n,) the guide's vertex that each of the shell's belongs to: the one that weighs most."""
        return None if self.lift is None else np.asarray(self.lift.argmax(axis=1)).ravel().astype(np.int64)

    @cached_property
    def nearest(self) -> IndexArray | None:
        """(n̄,) the shell's vertex that lies on, or nearest to, each of the guide's."""
        return None if self.lift is None else np.asarray(self.lift.argmax(axis=0)).ravel().astype(np.int64)

    @cached_property
    def followed(self) -> Animation:
        """The guide's motion on the shell's own triangles. Raises InputError where it does not lie on them."""
        if self.levels == 0:
            return self.guide
        if self.lift is None:
            raise InputError("the shell's mesh does not lie on the guide; paint what belongs together on both instead")
        positions = np.stack([self.laid(frame) for frame in range(self.guide.frames)])
        return replace(self.guide, mesh=self.mesh, positions=positions, velocities=None, contacts=None, skin=None)

    @cached_property
    def still(self) -> IndexArray:
        """Vertices of the shell that lie on vertices of the guide that never leave their places."""
        found = still_vertices(self.guide)
        if found is None or self.lift is None:
            return np.empty(0, dtype=np.int64)
        moves = np.ones(self.guide.n)
        moves[found[(self.guide.frame(0)[found] == self.coarse.vertices[found]).all(axis=1)]] = 0.0
        return np.flatnonzero(abs(self.lift) @ moves == 0.0)

    def laid(self, frame: int) -> Array:
        """(n, 3) [m] the shell as it lies on a frame of the guide; at rest where it does not lie on it."""
        if self.lift is None:
            return np.asarray(self.mesh.vertices)
        return np.asarray(self.lift @ self.guide.frame(min(frame, self.guide.frames - 1)))

    def guide_faces(self, faces: IndexArray) -> IndexArray:
        """The guide's triangles that some of the shell's lie in; none of a mesh of its own."""
        return np.empty(0, dtype=np.int64) if self.levels is None else np.unique(faces // 4**self.levels)


def most_levels(guide: Animation) -> int:
    """How often the guide's edges can be halved before the shell is too large to work with."""
    count = len(guide.mesh.surface.triangles)
    return max(level for level in range(MOST_LEVELS + 1) if level == 0 or count * 4**level <= MOST_TRIANGLES)


def first_levels(guide: Animation) -> int:
    """Levels to begin with: as many as it takes to have triangles for folds."""
    count, most = len(guide.mesh.surface.triangles), most_levels(guide)
    return next((level for level in range(most) if count * 4**level >= WANTED_TRIANGLES), most)


def subdivided(guide: Animation, levels: int) -> Sheet:
    """The guide's triangles with every edge halved `levels` times."""
    assert isinstance(guide.mesh, MeshTri)
    mesh, lift = subdivide(guide.mesh, levels=levels)
    return Sheet(guide, mesh if levels else guide.mesh, levels, sp.csr_array(lift))


def staged(guide: Animation, scene: EnrichScene) -> Sheet:
    """The mesh that a scene made for its guide; with its levels where it is a subdivision."""
    fine = scene.regions.fine_mesh
    for levels in range(MOST_LEVELS + 1):
        count = len(scene.regions.guide_mesh.triangles) * 4**levels
        if len(fine.triangles) == count and np.array_equal(subdivided(guide, levels).mesh.triangles, fine.triangles):
            return replace(subdivided(guide, levels), mesh=fine)
    return Sheet(guide, fine, None, scene.regions.lift)
