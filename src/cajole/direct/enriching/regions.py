"""Regions: averages of a fine shell that must equal those of its guide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.errors import InputError
from cajole.linalg import Factor
from cajole.mesh import MeshTri

# squared distance of a unit row from the span of the others, below which it is dependent
DEPENDENCE_TOLERANCE = 1e-12


def find_dependent_rows(rows: sp.sparray) -> IndexArray:
    """Find the rows (m, n) that are linear combinations of rows before them, to a millionth of their length.

    Empty rows are dependent. Raises InputError if there are too many rows to identify them within seconds.
    """
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unit = sp.csr_array(sp.diags_array(inverse) @ rows)
    gram = sp.csr_array(unit @ unit.T)
    # Sylvester: as many negative pivots as eigenvalues below the shift; independent rows, the usual case, end here
    shifted = sp.csr_array(gram - DEPENDENCE_TOLERANCE * sp.eye_array(gram.shape[0]))
    below = Factor(shifted, kind="symmetric").negative_eigenvalues if lengths.all() else None
    if below == 0:
        return np.empty(0, dtype=np.int64)
    if gram.shape[0] > 2000:
        raise InputError(f"some of {gram.shape[0]} regions follow from others; give fewer than 2000 to be told")
    # Cholesky factorisation in the given order, without the rows that have no pivot
    A, found = gram.toarray(), []
    for row in range(len(A)):
        pivot = A[row, row]
        if pivot <= DEPENDENCE_TOLERANCE:
            found.append(row)
            continue
        column = A[row + 1 :, row] / pivot
        touched = np.flatnonzero(column)
        A[np.ix_(row + 1 + touched, row + 1 + touched)] -= np.outer(column[touched], A[row, row + 1 + touched])
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """m weighted averages that guide and shell share: g = C̄ q̄ - C q = 0, eq. (6), Bergou 2007.

    guide_mesh, fine_mesh: the undeformed shapes; guide_weights (m, n̄), fine_weights (m, n): C̄ and C [m²], sparse.
    names: one per region, default numbers. interpolation (n, n̄), optional: fine vertices as averages of guide vertices,
    for the start of a shell. triangle_labels (triangles,), for regions of whole triangles: the region of each triangle
    of the fine mesh, -1 for none.
    The rows of C are scaled to the sums of those of C̄, eq. (8), so that a common translation changes no g. Raises
    InputError if a region is empty, covers no area, or depends linearly on others.
    """

    guide_mesh: MeshTri
    fine_mesh: MeshTri
    guide_weights: sp.csr_array
    fine_weights: sp.csr_array
    names: tuple[str, ...] = ()
    interpolation: sp.csr_array | None = field(default=None, kw_only=True)
    triangle_labels: IndexArray | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.require_instance(self.guide_mesh, MeshTri, "guide_mesh")
        checks.require_instance(self.fine_mesh, MeshTri, "fine_mesh")
        guide = _check_weights(self.guide_weights, "guide_weights", len(self.guide_mesh.vertices))
        fine = _check_weights(self.fine_weights, "fine_weights", len(self.fine_mesh.vertices))
        if guide.shape[0] != fine.shape[0]:
            raise InputError(
                f"there are {guide.shape[0]} regions of the guide, but {fine.shape[0]} of the shell; give each its pair"
            )
        names = tuple(self.names) or tuple(str(row) for row in range(guide.shape[0]))
        if len(names) != guide.shape[0]:
            raise InputError(f"there are {len(names)} names of {guide.shape[0]} regions; name each, or none")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "guide_weights", guide)
        for rows, what in ((guide, "guide"), (fine, "shell")):
            empty = np.flatnonzero(~(rows.sum(axis=1) > 0))
            if len(empty):
                row = int(empty[0])
                no_entries = rows.indptr[row] == rows.indptr[row + 1]
                state = "is empty or covers no triangle" if no_entries else "has weights that add up to nothing"
                raise InputError(
                    f"region {names[row]} {state} on the {what} ({len(empty)} such); paint at least one vertex of a "
                    "triangle with it, or leave it out"
                )
        # eq. (8)
        scale = guide.sum(axis=1) / fine.sum(axis=1)
        object.__setattr__(self, "fine_weights", sp.csr_array(sp.diags_array(scale) @ fine))
        for rows, what in ((self.guide_weights, "guide"), (self.fine_weights, "shell")):
            require_independent_rows(rows, names, what)

    def __repr__(self) -> str:
        return f"Regions({len(self)} between {self.guide_mesh!r} and {self.fine_mesh!r})"

    def __len__(self) -> int:
        return int(self.guide_weights.shape[0])

    @cached_property
    def areas(self) -> Array:
        """Sum of the weights of each region (m,) [m²]."""
        return np.asarray(self.guide_weights.sum(axis=1))

    @cached_property
    def labels(self) -> IndexArray:
        """For drawing: the region with the largest weight at each vertex of the fine mesh (n,), -1 for none."""
        return _find_dominant_region(self.fine_weights)

    @cached_property
    def guide_labels(self) -> IndexArray:
        """For drawing: the region with the largest weight at each vertex of the guide (n̄,), -1 for none."""
        return _find_dominant_region(self.guide_weights)

    def compute_residuals(self, guide_positions: ArrayLike, positions: ArrayLike) -> Array:
        """g (m, 3) [m³], eq. (2), for a guide at (n̄, 3) [m] and a shell at (n, 3) [m]."""
        q_bar = checks.require_real_array(guide_positions, "guide_positions", (len(self.guide_mesh.vertices), 3))
        q = checks.require_real_array(positions, "positions", (len(self.fine_mesh.vertices), 3))
        return np.asarray(self.guide_weights @ q_bar - self.fine_weights @ q)

    def compute_distances(self, guide_positions: ArrayLike, positions: ArrayLike) -> Array:
        """Distance (m,) [m] of each region average from that of the guide: |g| over the area of the region."""
        residuals = self.compute_residuals(guide_positions, positions)
        return np.asarray(np.linalg.norm(residuals, axis=1) / self.areas)

    def joined(self, other: Regions, *, dependent: str = "refuse") -> Regions:
        """Return these regions and those of `other` between the same meshes, for example coarse and fine ones.

        dependent: what to do with a region that depends linearly on others (a quarter, given the whole and the other
        three): "refuse", naming it, or "drop" it. Later regions are dropped, so put important ones first.
        """
        checks.require_instance(other, Regions, "other")
        checks.require_choice(dependent, "dependent", ("refuse", "drop"))
        other.require_matching_meshes(self.guide_mesh, self.fine_mesh, "other")
        guide = sp.vstack([self.guide_weights, other.guide_weights])
        fine = sp.vstack([self.fine_weights, other.fine_weights])
        names, seen = [], Counter[str]()
        for name in (*self.names, *other.names):
            seen[name] += 1
            names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
        keep = np.arange(len(names))
        if dependent == "drop":
            keep = np.setdiff1d(keep, np.union1d(find_dependent_rows(guide), find_dependent_rows(fine)))
        lift = self.interpolation if self.interpolation is not None else other.interpolation
        chosen = tuple(names[row] for row in keep)
        guide, fine = sp.csr_array(guide)[keep], sp.csr_array(fine)[keep]
        return Regions(self.guide_mesh, self.fine_mesh, guide, fine, chosen, interpolation=lift)

    def without(self, names: str | Iterable[str]) -> Regions:
        """Return all regions except those with these names."""
        listed = (
            (names,) if isinstance(names, str) else checks.require_sequence(names, "names", "a name, or a list of them")
        )
        gone = [name for name in listed if isinstance(name, str)]
        unknown = [name for name in listed if not isinstance(name, str) or name not in self.names]
        if unknown:
            raise InputError(
                f"there is no region {checks.format_value(unknown[0])}; there are {_format_names(self.names)}"
            )
        keep = np.array([row for row, name in enumerate(self.names) if name not in gone], dtype=np.int64)
        if not len(keep):
            raise InputError("no region would be left; keep at least one")
        faces = self.triangle_labels
        if faces is not None:
            numbers = np.full(len(self) + 1, -1)
            numbers[keep] = np.arange(len(keep))
            faces = numbers[faces]
        chosen = tuple(self.names[row] for row in keep)
        weights, lift = (self.guide_weights[keep], self.fine_weights[keep]), self.interpolation
        return Regions(self.guide_mesh, self.fine_mesh, *weights, chosen, interpolation=lift, triangle_labels=faces)

    def require_matching_meshes(self, guide_mesh: Any, fine_mesh: Any, name: str = "regions") -> None:
        """Raise InputError unless `name` was made for these two meshes: the same triangles, at any positions."""
        for mesh, own, what in ((guide_mesh, self.guide_mesh, "guide"), (fine_mesh, self.fine_mesh, "shell")):
            checks.require_instance(mesh, MeshTri, f"the {what}'s mesh")
            if len(mesh.vertices) != len(own.vertices) or not np.array_equal(mesh.triangles, own.triangles):
                raise InputError(
                    f"{name} were made for another {what}: of {len(own.vertices)} vertices and {len(own.triangles)} "
                    f"triangles, not {len(mesh.vertices)} and {len(mesh.triangles)}, or not the same triangles; make "
                    "them again from the meshes that are used"
                )


def require_independent_rows(rows: sp.csr_array, names: tuple[str, ...], where: str) -> None:
    """Raise InputError, naming the rows (m, n) that depend linearly on previous rows."""
    found = find_dependent_rows(rows)
    if len(found):
        listed = _format_names(tuple(names[row] for row in found))
        raise InputError(
            f"{len(found)} of {len(names)} regions follow from the others on the {where}, so that they could only "
            f"repeat or contradict them: {listed}; leave them out (regions.without, joined(..., dependent='drop')) or "
            "make the regions larger than single triangles"
        )


def _format_names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _check_weights(rows: Any, name: str, count: int) -> sp.csr_array:
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


def _find_dominant_region(rows: sp.csr_array) -> IndexArray:
    columns = sp.csc_array(rows)
    out = np.full(rows.shape[1], -1, dtype=np.int64)
    for vertex in np.flatnonzero(np.diff(columns.indptr)):
        part = slice(columns.indptr[vertex], columns.indptr[vertex + 1])
        out[vertex] = columns.indices[part][np.argmax(columns.data[part])]
    return out
