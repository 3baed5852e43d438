"""BodySolid: St. Venant-Kirchhoff linear tets with consistent mass and Rayleigh damping; inverted tets; .veg files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import kernels_solid as kernels
from cajole.body.base import Body, require_no_unused_vertices
from cajole.body.kernels_assembly import add_consistent_mass
from cajole.body.material import MaterialStVK, tabulate_materials
from cajole.body.rayleigh import BodyRayleigh, parse_rayleigh_damping
from cajole.errors import InputError
from cajole.mesh import MeshTet, VegFile, read_veg
from cajole.mesh.files import convert_mesh_to_z_up_metres
from cajole.mesh.tet import compute_signed_volumes


class BodySolid(BodyRayleigh):
    """A solid: a tet mesh, a material, fixed vertices and damping D(u) = αM + βK(u).

    material: one, or one per tet. fixed: vertex indices or a mask (n,); all three coordinates of each are fixed.
    damping: (α [1/s], β [s]).
    """

    def __init__(
        self,
        mesh: MeshTet,
        material: MaterialStVK | Sequence[MaterialStVK] | None = None,
        *,
        fixed: ArrayLike | None = None,
        damping: tuple[float, float] = (0.0, 0.0),
    ):
        if not isinstance(mesh, MeshTet):
            raise InputError(f"a solid needs a MeshTet, not {type(mesh).__name__}; cajole.mesh.voxelise makes one")
        require_no_unused_vertices(mesh, "tet")
        alpha, beta = parse_rayleigh_damping(damping)
        super().__init__(mesh.vertices, mesh.tets, fixed=fixed, alpha=alpha, betas=(beta,))
        self.mesh = mesh
        table = tabulate_materials(
            MaterialStVK() if material is None else material,
            MaterialStVK, len(mesh.tets), "tet", lambda m: (*m.lame, m.density),
        )  # fmt: skip
        lam, mu, self.densities = table.T.copy()
        self._tets = np.ascontiguousarray(mesh.tets, dtype=np.int32)
        gradients, volumes = np.ascontiguousarray(mesh.shape_gradients), np.ascontiguousarray(mesh.volumes)
        # arguments of the kernels: corners, shape gradients, volume, λ, μ of every tet
        self.element_arrays = self._tets, gradients, volumes, lam, mu
        self._assembly_map = (self.pattern.block_offsets, self.pattern.row_strides)

    @cached_property
    def mass_values(self) -> Array:
        """Values of the consistent mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.nnz)
        add_consistent_mass(self._tets, self.densities * self.mesh.volumes, *self._assembly_map, data)
        return data

    def energy(self, displacement: ArrayLike) -> float:
        total = kernels.compute_energy(self.check_vertex_vectors(displacement), *self.element_arrays)
        return float(checks.require_finite_result(np.asarray(total), "the energy"))

    def stiffness(self, displacement: ArrayLike | None = None) -> sp.csr_array:
        u = np.zeros((self.vertex_count, 3)) if displacement is None else self.check_vertex_vectors(displacement)
        data = np.zeros(self.pattern.nnz)
        self.add_stiffness_and_force(u, data)
        return self.pattern.build_matrix(checks.require_finite_result(data, "the stiffness"))

    def add_stiffness_and_force(self, u: Array, data: Array, *, scale: float = 1.0) -> Array:
        """Return f(u) (n, 3), and data += scale K(u) on `pattern`; without checks."""
        out = np.zeros((self.vertex_count, 3))
        kernels.add_force_and_stiffness(u, *self.element_arrays, *self._assembly_map, scale, out, data)
        return out

    def _evaluate(self, u: Array) -> Array:
        return u

    def _add_force(self, state: Array, out: Array) -> None:
        kernels.add_force(state, *self.element_arrays, out)

    def _add_force_differential(self, state: Array, v: Array, scales: tuple[float, ...], out: Array) -> None:
        kernels.add_force_differential(state, v, *self.element_arrays, scales[0], out)

    def _add_stiffness_derivative(self, state: Array, v: Array, scales: tuple[float, ...], data: Array) -> None:
        kernels.add_stiffness_derivative(state, v, *self.element_arrays, *self._assembly_map, scales[0], data)

    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        np.multiply(self.mass_values, mass_factor + damping_factor * self.alpha, out=out)
        force = self.add_stiffness_and_force(u, out, scale=1.0 + damping_factor * self.beta)
        if self.beta:
            self._add_stiffness_derivative(u, v, self.betas, out)
        if self.alpha or self.beta:
            force += self._compute_damping_force(u, v)
        return force

    def compute_volume_ratios(self, displacement: ArrayLike) -> Array:
        """Signed volume of each tet (m,) at a displacement (n, 3) over its rest volume; negative if inverted."""
        moved = compute_signed_volumes(self.vertices + self.check_vertex_vectors(displacement), self.mesh.tets)
        return np.asarray(moved / self.mesh.volumes)

    def inverted(self, displacement: ArrayLike) -> IndexArray:
        return np.flatnonzero(self.compute_volume_ratios(displacement) <= 0)

    def __repr__(self) -> str:
        return f"BodySolid({self.mesh!r}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def get_display_mesh(self) -> MeshTet:
        return self.mesh

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        _, _, _, lam, mu = self.element_arrays
        return "solid", self.mesh.content_hash, lam, mu, self.densities, self.fixed, self.alpha, self.beta


@dataclass(frozen=True, eq=False)
class InversionReport:
    """Inverted tets, worst first: tets (k,), volume ratios to rest (k,) <= 0, centres at rest (k, 3) [m].

    tet_count: number of all tets of the body; volume_share: inverted share of its rest volume.
    """

    # Up to this share of the rest volume, inverted tets count as few. A strong load at one vertex inverts the tets
    # beside it: 0.7 % to 4 % of a coarse beam of 450 tets under 50 to 100 body weights, less on finer meshes. Most
    # motions through such keys converge; shapes with more are wrong as a whole, or come from unreachable loads.
    MAX_FEW = 0.05
    # beyond this share the shape itself is mirrored, not compressed
    MIRRORED = 0.5
    REMEDY = "spread the loads over more vertices or reduce them, or use a stiffer material or a finer mesh"

    tets: IndexArray
    volume_ratios: Array
    centres: Array
    tet_count: int
    volume_share: float

    @property
    def count_text(self) -> str:
        """For example "3 of 450 tets"."""
        return f"{len(self.tets)} of {self.tet_count} tets"

    @property
    def location_text(self) -> str:
        """The worst tet with its position and volume ratio, then up to seven others."""
        place = ", ".join(f"{x:.3g}" for x in self.centres[0])
        others = ", ".join(map(str, self.tets[1:8])) + (", ..." if len(self.tets) > 8 else "")
        text = f"the worst is tet {self.tets[0]} near ({place}) m at rest, at {self.volume_ratios[0]:.2g} of its volume"
        return text + (f", then tets {others}" if others else "")

    def __str__(self) -> str:
        return f"{self.count_text} are inside out; {self.location_text}; {self.REMEDY}"


def find_inverted_tets(body: Body, displacement: ArrayLike) -> InversionReport | None:
    """Find the tets that a displacement (n, 3) [m] inverts; None if there are none, or the body has no tets."""
    if not isinstance(body, BodySolid):
        return None
    ratios = body.compute_volume_ratios(displacement)
    tets = np.flatnonzero(ratios <= 0)
    if len(tets) == 0:
        return None
    tets = tets[np.argsort(ratios[tets], kind="stable")]
    places = body.vertices[body.mesh.tets[tets]].mean(axis=1)
    share = float(body.mesh.volumes[tets].sum() / body.mesh.volume)
    return InversionReport(tets, ratios[tets], places, len(ratios), share)


def read_body(
    path: str | os.PathLike[str],
    *,
    fixed: ArrayLike | None = None,
    damping: tuple[float, float] = (0.0, 0.0),
    scale: float = 1.0,
    up: str = "z",
) -> BodySolid:
    """Read a solid from a .veg file, with the materials of the file, or the default material if it has none.

    fixed, damping: as for BodySolid; scale, up: as for `read_mesh`. Raises FileError with the number of a wrong line.
    """
    file = read_veg(path)
    mesh = convert_mesh_to_z_up_metres(file.mesh, scale=scale, up=up)
    return BodySolid(mesh, parse_material(file), fixed=fixed, damping=damping)


def parse_material(file: VegFile) -> MaterialStVK | tuple[MaterialStVK, ...]:
    """Material of a .veg file: one, or one per tet; the default material if the file has none."""
    if file.young is None or file.poisson is None or file.density is None:
        return MaterialStVK()
    rows, which = np.unique(np.column_stack([file.young, file.poisson, file.density]), axis=0, return_inverse=True)
    made = [MaterialStVK(*row) for row in rows.tolist()]
    return made[0] if len(made) == 1 else tuple(made[k] for k in which.reshape(-1).tolist())
