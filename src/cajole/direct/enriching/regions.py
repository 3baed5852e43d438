"""Regions: which averages of a fine shell must be those of its guide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.dependence import dependent_rows
from cajole.errors import InputError
from cajole.mesh import MeshTri

# how many names a message lists before it only counts
LISTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """m weighted averages that guide and shell share: g = guide @ q̄ - fine @ q = 0, eq. (6), Bergou 2007.

    guide_mesh, fine_mesh: the undeformed shapes; guide (m, n̄), fine (m, n): sparse weights [m²], C̄ and C of the paper.
    names: one a region, numbers when left out. lift (n, n̄), where there is one: fine vertices as averages of the
    guide's, from which a shell starts. faces (triangles,), of regions made of whole triangles: the region of each
    triangle of the fine mesh, -1 for none.
    The rows of `fine` are scaled to the sums of those of `guide`, eq. (8), so that moving both shapes together changes
    no g. Raises InputError where a region is empty, covers no area, or follows from others.
    """

    guide_mesh: MeshTri
    fine_mesh: MeshTri
    guide: sp.csr_array
    fine: sp.csr_array
    names: tuple[str, ...] = ()
    lift: sp.csr_array | None = field(default=None, kw_only=True)
    faces: IndexArray | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.require_instance(self.guide_mesh, MeshTri, "guide_mesh")
        checks.require_instance(self.fine_mesh, MeshTri, "fine_mesh")
        guide = _rows(self.guide, "guide", len(self.guide_mesh.vertices))
        fine = _rows(self.fine, "fine", len(self.fine_mesh.vertices))
        if guide.shape[0] != fine.shape[0]:
            raise InputError(
                f"there are {guide.shape[0]} regions of the guide, but {fine.shape[0]} of the shell; give each its pair"
            )
        names = tuple(self.names) or tuple(str(row) for row in range(guide.shape[0]))
        if len(names) != guide.shape[0]:
            raise InputError(f"there are {len(names)} names of {guide.shape[0]} regions; name each, or none")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "guide", guide)
        _require_area(guide, names, "guide")
        _require_area(fine, names, "shell")
        # eq. (8): whatever the two undeformed areas are, both averages weigh the same
        scale = guide.sum(axis=1) / fine.sum(axis=1)
        object.__setattr__(self, "fine", sp.csr_array(sp.diags_array(scale) @ fine))
        for rows, what in ((self.guide, "guide"), (self.fine, "shell")):
            require_independent(rows, names, what)

    def __repr__(self) -> str:
        return f"Regions({len(self)} between {self.guide_mesh!r} and {self.fine_mesh!r})"

    def __len__(self) -> int:
        return int(self.guide.shape[0])

    @cached_property
    def areas(self) -> Array:
        """(m,) [m²] what the weights of each region add up to."""
        return np.asarray(self.guide.sum(axis=1))

    @cached_property
    def labels(self) -> IndexArray:
        """(n,) for drawing: the region that weighs most at each vertex of the fine mesh, -1 where none does."""
        return _strongest(self.fine)

    @cached_property
    def guide_labels(self) -> IndexArray:
        """(n̄,) for drawing: the region that weighs most at each vertex of the guide, -1 where none does."""
        return _strongest(self.guide)

    def gaps(self, guide_positions: ArrayLike, positions: ArrayLike) -> Array:
        """g (m, 3) [m³], eq. (2), of a guide at (n̄, 3) [m] and a shell at (n, 3) [m]."""
        q_bar = checks.real_array(guide_positions, "guide_positions", (len(self.guide_mesh.vertices), 3))
        q = checks.real_array(positions, "positions", (len(self.fine_mesh.vertices), 3))
        return np.asarray(self.guide @ q_bar - self.fine @ q)

    def distances(self, guide_positions: ArrayLike, positions: ArrayLike) -> Array:
        """(m,) [m] how far each region's mean place is from that of the guide: |g| over the region's area."""
        return np.linalg.norm(self.gaps(guide_positions, positions), axis=1) / self.areas

    def joined(self, other: Regions, *, dependent: str = "refuse") -> Regions:
        """These regions and those of `other` between the same meshes: coarse ones here, finer ones there.

        Where a region follows from others (three parts of four and the whole: the fourth is known), `dependent` says
        what to do: "refuse" with its name, or "drop" it. Of such regions the later are dropped, so begin with those
        that matter.
        """
        checks.require_instance(other, Regions, "other")
        checks.one_of(dependent, "dependent", ("refuse", "drop"))
        other.require_fit(self.guide_mesh, self.fine_mesh, "other")
        guide, fine = sp.vstack([self.guide, other.guide]), sp.vstack([self.fine, other.fine])
        names = unique_names((*self.names, *other.names))
        keep = np.arange(len(names))
        if dependent == "drop":
            keep = np.setdiff1d(keep, np.union1d(dependent_rows(guide), dependent_rows(fine)))
        lift = self.lift if self.lift is not None else other.lift
        chosen = tuple(names[row] for row in keep)
        return Regions(
            self.guide_mesh, self.fine_mesh, sp.csr_array(guide)[keep], sp.csr_array(fine)[keep], chosen, lift=lift
        )

    def without(self, names: str | Iterable[str]) -> Regions:
        """All regions but those of these names."""
        listed = (names,) if isinstance(names, str) else checks.several(names, "names", "a name, or a list of them")
        gone = [name for name in listed if isinstance(name, str)]
        unknown = [name for name in listed if not isinstance(name, str) or name not in self.names]
        if unknown:
            raise InputError(f"there is no region {checks.shown(unknown[0])}; there are {_listed(self.names)}")
        keep = np.array([row for row, name in enumerate(self.names) if name not in gone], dtype=np.int64)
        if not len(keep):
            raise InputError("no region would be left; keep at least one")
        faces = self.faces
        if faces is not None:
            numbers = np.full(len(self) + 1, -1)
            numbers[keep] = np.arange(len(keep))
            faces = numbers[faces]
        chosen = tuple(self.names[row] for row in keep)
        return Regions(
            self.guide_mesh, self.fine_mesh, self.guide[keep], self.fine[keep], chosen, lift=self.lift, faces=faces
        )

    def require_fit(self, guide_mesh: Any, fine_mesh: Any, name: str = "regions") -> None:
        """Raise InputError unless `name` was made for these two meshes: the same triangles, wherever they are."""
        for mesh, own, what in ((guide_mesh, self.guide_mesh, "guide"), (fine_mesh, self.fine_mesh, "shell")):
            checks.require_instance(mesh, MeshTri, f"the {what}'s mesh")
            if len(mesh.vertices) != len(own.vertices) or not np.array_equal(mesh.triangles, own.triangles):
                raise InputError(
                    f"{name} were made for another {what}: of {len(own.vertices)} vertices and {len(own.triangles)} "
                    f"triangles, not {len(mesh.vertices)} and {len(mesh.triangles)}, or not the same triangles; make "
                    "them again from the meshes that are used"
                )


def require_independent(rows: sp.csr_array, names: tuple[str, ...], what: str) -> None:
    """Raise InputError naming the rows (m, n) that follow from the ones before them."""
    found = dependent_rows(rows)
    if len(found):
        listed = _listed(tuple(names[row] for row in found))
        raise InputError(
            f"{len(found)} of {len(names)} regions follow from the others on the {what}, so that they could only "
            f"repeat or contradict them: {listed}; leave them out (regions.without, joined(..., dependent='drop')) or "
            "make the regions larger than single triangles"
        )


def unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names, those that stood before with a number behind them."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(out)


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _rows(rows: Any, name: str, count: int) -> sp.csr_array:
    matrix = sp.csr_array(rows, dtype=np.float64)
    if matrix.shape[1] != count:
        raise InputError(f"{name} weighs {matrix.shape[1]} vertices, but its mesh has {count}; give a weight for each")
    if matrix.shape[0] == 0:
        raise InputError(f"{name} has no regions; a shell needs at least one to follow its guide")
    if not np.isfinite(matrix.data).all():
        row = int(np.flatnonzero(~np.isfinite(matrix.sum(axis=1)))[0])
        raise InputError(f"the weights of region {row} of {name} are not finite; every weight must be a number")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _require_area(rows: sp.csr_array, names: tuple[str, ...], what: str) -> None:
    lacking = np.flatnonzero(~(rows.sum(axis=1) > 0))
    if len(lacking):
        row = int(lacking[0])
        empty = rows.indptr[row] == rows.indptr[row + 1]
        state = "is empty or covers no triangle" if empty else "has weights that add up to nothing"
        raise InputError(
            f"region {names[row]} {state} on the {what} ({len(lacking)} such); paint at least one vertex of a triangle "
            "with it, or leave it out"
        )


def _strongest(rows: sp.csr_array) -> IndexArray:
    columns = sp.csc_array(rows)
    out = np.full(rows.shape[1], -1, dtype=np.int64)
    for vertex in np.flatnonzero(np.diff(columns.indptr)):
        part = slice(columns.indptr[vertex], columns.indptr[vertex + 1])
        out[vertex] = columns.indices[part][np.argmax(columns.data[part])]
    return out
