"""Controllers in files: one .npz that runs without the body, in Python and, with `runtime/steer.js`, in a browser.

The zip is stored and not compressed, its members are plain arrays (docs/runtime.md lists them); nothing is unpickled.
Flows have a format of their own, whose arrays `pack_shot` names.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.steering import kernels
from cajole.direct.steering.cost import CostWeights, TimeVaryingWeight
from cajole.direct.steering.lqr import FORMULATIONS, FeedbackGains
from cajole.direct.steering.reference import Reference
from cajole.errors import FileError, InputError, SolveError
from cajole.mesh import MeshLine, MeshTri, Skin
from cajole.reduction import FlowShot, NominalTrajectory, ReducedModel, build_skin_basis
from cajole.reduction.kernels_solid import compute_force_and_stiffness
from cajole.reduction.kernels_springs import compute_energy_springs
from cajole.reduction.reduced_flow import pack_shot, unpack_shot
from cajole.storage import read_arrays, write_arrays

CONTROLLER_FORMAT, CONTROLLER_VERSION = "cajole controller", 1
FLOW_CONTROLLER_FORMAT = "cajole flow controller 1"
# reference, weights, gains, formulation and CPU time of the gains, in the order of `Controller`
ControllerFields = tuple[Any, CostWeights, FeedbackGains, str, float]


def save_controller(
    path: str | os.PathLike[str],
    reference: NominalTrajectory,
    weights: CostWeights,
    gains: FeedbackGains,
    formulation: str,
    gain_seconds: float,
    skin: Skin | None = None,
) -> None:
    """Write the arrays of a controller, and of `skin` how it moves with the body; see `Controller.save`."""
    arrays: dict[str, ArrayLike] = {"gains": gains.gains, "value": gains.cost_to_go, "seconds": gain_seconds}
    arrays["formulation"] = formulation
    if isinstance(reference, FlowShot):
        if skin is not None:
            raise InputError("skin is a surface of a body; leave it out for a flow")
        arrays |= {"format": FLOW_CONTROLLER_FORMAT} | pack_shot(reference) | _pack_flow_weights(weights)
    else:
        assert isinstance(reference, Reference)
        arrays |= {"format": CONTROLLER_FORMAT, "version": CONTROLLER_VERSION, "kind": gains.state_kind}
        arrays |= _pack_reference(reference) | _pack_body_weights(reference, weights)
        if skin is not None:
            rest, columns = build_skin_basis(reference.model, skin)
            arrays |= {
                "skin_vertices": rest,
                "skin_basis": columns,
                "skin_triangles": skin.mesh.triangles.astype(np.int32),
                "skin_colors": skin.colors.astype(np.float32),
            }
    write_arrays(path, {name: np.asarray(value) for name, value in arrays.items()})


def read_controller(path: str | os.PathLike[str], *, derivatives: bool = True) -> ControllerFields:
    """The fields of a `Controller` in a file of either format; see `load_controller`. Raises FileError."""
    shown = path if isinstance(path, str | os.PathLike) else checks.format_value(path)
    try:
        arrays = ControllerArrays(read_arrays(path, lambda name: not name.startswith("skin_")))
        if arrays.get_text("format") == FLOW_CONTROLLER_FORMAT:
            return _unpack_flow_controller(arrays)
        return _unpack_body_controller(arrays, derivatives)
    except FileError as error:
        if str(shown) in str(error):
            raise
        raise FileError(f"cannot load a controller from {shown}: {error}") from None
    except (InputError, SolveError, KeyError, TypeError, ValueError, OverflowError, MemoryError, zlib.error) as reason:
        raise FileError(
            f"cannot load a controller from {shown}: {reason}; write it again with controller.save"
        ) from None


def read_flow_controller(path: str | os.PathLike[str]) -> ControllerFields:
    """`read_controller` of a file that must hold the controller of a flow. Raises FileError."""
    if str(read_arrays(path, lambda name: name == "format").get("format")) != FLOW_CONTROLLER_FORMAT:
        raise FileError(f"{path} holds no controller of a flow; write one with controller.save")
    return read_controller(path)


def is_flow_controller_file(path: str | os.PathLike[str]) -> bool:
    """True for a readable file with the controller of a flow."""
    try:
        return str(read_arrays(path, lambda name: name == "format").get("format")) == FLOW_CONTROLLER_FORMAT
    except FileError:
        return False


# --- writing


def _pack_reference(reference: Reference) -> dict[str, ArrayLike]:
    model = reference.model
    body, mesh = model.body, model.body.get_display_mesh()
    masses = sp.csr_array(body.mass[::3, ::3])
    arrays: dict[str, ArrayLike] = {
        "dt": reference.dt,
        "loop": int(reference.loop),
        "substeps": reference.substeps,
        "course": reference.trajectory,
        "accelerations": reference.accelerations,
        "feed_forward": reference.feed_forward,
        "basis": model.basis,
        "vertices": body.vertices,
        "triangles": np.empty((0, 3), dtype=np.int32),
        "mass_data": masses.data,
        "mass_indices": masses.indices.astype(np.int32),
        "mass_indptr": masses.indptr.astype(np.int64),
        "total_mass": body.total_mass,
        "size": body.size,
        "frequency": model.first_angular_frequency,
        "offset": model.lift(np.zeros(model.size)),
        "constant": model.constant_force,
        **build_system_arrays(model.kernel_data),
    }
    if isinstance(mesh, MeshLine):
        arrays["lines"] = mesh.elements.astype(np.int32)
    else:
        arrays["triangles"] = mesh.surface.triangles.astype(np.int32)
    if reference.projection_error is not None:
        arrays["motion_error"] = reference.projection_error
    return arrays


def _pack_body_weights(reference: Reference, weights: CostWeights) -> dict[str, ArrayLike]:
    """The dials; functions of time are evaluated at the end of every step, where the cost needs them."""
    arrays: dict[str, ArrayLike] = {"final": weights.final}
    for name, dial in (("tracking", weights.tracking), ("effort", weights.effort)):
        if callable(dial):
            times = reference.dt * np.arange(1, reference.step_count + 1)
            arrays[f"{name}_over_time"] = np.array([dial(float(t)) for t in times], dtype=np.float64)
        else:
            arrays[name] = np.asarray(dial, dtype=np.float64)
    for name, chosen in (("frame", weights.frames), ("vertex", weights.vertices)):
        if chosen is not None:
            factors = chosen if isinstance(chosen, Mapping) else dict.fromkeys(np.ravel(chosen).tolist(), 1.0)
            arrays[f"{name}_numbers"] = np.array(list(factors), dtype=np.int64)
            arrays[f"{name}_weights"] = np.array(list(factors.values()), dtype=np.float64)
    return arrays


def _pack_flow_weights(weights: CostWeights) -> dict[str, ArrayLike]:
    frames, velocity_tracking = weights.frames or {}, weights.velocity_tracking
    dials = weights.tracking, weights.final, weights.effort, 1e-3 if velocity_tracking is None else velocity_tracking
    arrays: dict[str, ArrayLike] = {
        "dials": np.array(dials, dtype=np.float64),
        "frame_numbers": np.array(list(frames), dtype=np.int64),
        "frame_weights": np.array(list(frames.values()), dtype=np.float64),
    }
    if weights.particles is not None:
        arrays["particle_weights"] = np.asarray(weights.particles, dtype=np.float64)
    return arrays


# --- reading


@dataclass(frozen=True)
class ControllerArrays:
    """The arrays of a file, each checked when read. Raises InputError for those that are missing or do not fit."""

    arrays: Mapping[str, NDArray[Any]]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def get(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise InputError(f"there is no array {name!r} in it")
        return self.arrays[name]

    def get_text(self, name: str) -> str:
        return str(self.arrays[name]) if name in self.arrays and self.arrays[name].dtype.kind == "U" else ""

    def get_number(self, name: str) -> float:
        number = checks.require_real_number(self.get(name)[()], name)
        return checks.require_positive(number, name, allow_zero=True)

    def get_scale(self, name: str) -> float:
        """A positive number whose square does not overflow while the controller runs."""
        return checks.require_safe_magnitude(checks.require_real_number(self.get(name)[()], name), name)

    def get_count(self, name: str, most: int) -> int:
        return checks.require_integer(cast(int, self.get(name)[()]), name, minimum=0, maximum=most)

    def get_real(self, name: str, *shape: int | None) -> Array:
        array = self.get(name)
        if array.dtype.kind != "f":
            raise InputError(f"{name} holds {array.dtype}, not real numbers")
        return checks.require_real_array(array, name, shape)

    def get_weight(self, name: str) -> float | Array:
        shape = self.get(name).shape
        return self.get_real(name, *shape) if shape else self.get_number(name)

    def get_indices(self, name: str, shape: tuple[int | None, ...], limit: int) -> NDArray[np.int64]:
        return checks.require_index_array(self.get(name), name, shape, limit)

    def get_factors(self, name: str) -> dict[int, float] | None:
        """{index: factor} of the arrays name_numbers and name_weights; None if they are not there."""
        if f"{name}_numbers" not in self:
            return None
        numbers = self.get_indices(f"{name}_numbers", (None,), np.iinfo(np.int64).max)
        return dict(zip(numbers.tolist(), self.get_real(f"{name}_weights", len(numbers)).tolist()))


def _unpack_body_controller(arrays: ControllerArrays, derivatives: bool) -> ControllerFields:
    if arrays.get_text("format") != CONTROLLER_FORMAT:
        raise InputError(f"it is not marked as a {CONTROLLER_FORMAT!r}")
    version = arrays.get("version")
    if version.shape != () or version.dtype.kind != "i" or int(version) != CONTROLLER_VERSION:
        raise InputError(f"it is of format version {version}, and this Cajole reads version {CONTROLLER_VERSION}")
    model = _unpack_model(arrays)
    r = model.size
    feed_forward = arrays.get_real("feed_forward", None, r)
    T = len(feed_forward)
    if T < 1:
        raise InputError("its reference has no steps")
    trajectory = arrays.get_real("course", 2, T + 1, 2, r)
    # derivatives are not stored: they are many numbers, and one evaluation per step computes them again
    found = [model.evaluate_dynamics(q, v)[1:] for q, v in trajectory[1, 1:]] if derivatives else []
    reference = Reference(
        model,
        arrays.get_scale("dt"),
        trajectory,
        arrays.get_real("accelerations", T, r),
        feed_forward,
        np.array([Gq for Gq, _ in found]),
        np.array([Gv for _, Gv in found]),
        loop=bool(arrays.get_count("loop", 1)),
        projection_error=arrays.get_real("motion_error", T + 1) if "motion_error" in arrays else None,
        substeps=max(1, arrays.get_count("substeps", T)) if "substeps" in arrays else 1,
    )
    gains, value = arrays.get_real("gains", T, r, 2 * r), arrays.get_real("value", 2 * r, 2 * r)
    kind = arrays.get_count("kind", max(kernels.PREDICTOR_STATE, kernels.FRAME_STATE))
    tracking, effort = (_unpack_weight(arrays, name, reference) for name in ("tracking", "effort"))
    weights = CostWeights(
        tracking, arrays.get_weight("final"), effort, arrays.get_factors("frame"), arrays.get_factors("vertex")
    )
    formulation = checks.require_choice(arrays.get_text("formulation"), "formulation", FORMULATIONS)
    return reference, weights, FeedbackGains(gains, value, kind), formulation, arrays.get_number("seconds")


def _unpack_weight(arrays: ControllerArrays, name: str, reference: Reference) -> TimeVaryingWeight:
    if f"{name}_over_time" not in arrays:
        return arrays.get_weight(name)
    shape = arrays.get(f"{name}_over_time").shape[1:]
    values = arrays.get_real(f"{name}_over_time", reference.step_count, *shape)
    return lambda t: values[round(t / reference.dt) - 1]


def _unpack_flow_controller(arrays: ControllerArrays) -> ControllerFields:
    shot = unpack_shot(arrays.arrays)
    r, m = shot.model.size, 2 * shot.particles.shape[1] + shot.model.size
    gains = FeedbackGains(
        arrays.get_real("gains", shot.step_count, r, m), arrays.get_real("value", m, m), kernels.FRAME_STATE
    )
    tracking, final, effort, velocity_tracking = arrays.get_real("dials", 4).tolist()
    particles = arrays.get("particle_weights") if "particle_weights" in arrays else None
    frames = arrays.get_factors("frame") or None
    weights = CostWeights(tracking, final, effort, frames, None, velocity_tracking, particles)
    formulation = checks.require_choice(arrays.get_text("formulation"), "formulation", FORMULATIONS)
    return shot, weights, gains, formulation, arrays.get_number("seconds")


def _unpack_model(arrays: ControllerArrays) -> StandaloneModel:
    vertices = arrays.get_real("vertices", None, 3)
    n = len(vertices)
    basis = arrays.get_real("basis", 3 * n, None)
    r = basis.shape[1]
    mesh: MeshTri | MeshLine
    if "lines" in arrays:
        mesh = MeshLine(vertices, arrays.get_indices("lines", (None, 2), n))
    else:
        mesh = MeshTri(vertices, arrays.get_indices("triangles", (None, 3), n))
    data = arrays.get_real("mass_data", None)
    columns = arrays.get_indices("mass_indices", (len(data),), n)
    starts = arrays.get_indices("mass_indptr", (n + 1,), len(data) + 1)
    masses = sp.csr_array((data, columns, starts), shape=(n, n))
    masses.check_format(full_check=True)
    body = StandaloneBody(mesh, masses, arrays.get_scale("total_mass"), arrays.get_scale("size"))
    none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
    if "springs" in arrays:
        points, rows = arrays.get_real("points", None, 3), arrays.get_real("springs", None, 3)
        ends = arrays.get_indices("spring_ends", (len(rows), 2), len(points))
        point_basis = arrays.get_real("point_basis", 3 * len(points), r)
        system: tuple[Any, ...] = (none, none, none, 0.0, 0.0, points, point_basis, rows, ends)
    else:
        pairs = r * (r + 1) // 2
        cubic, quartic = arrays.get_real("cubic", r, pairs), arrays.get_real("quartic", r, pairs * (r + 2) // 3)
        damping = arrays.get_number("alpha"), arrays.get_number("beta")
        system = (arrays.get_real("stiffness", r, r), cubic, quartic, *damping, none, none, none, no_ends)
    offset, constant = arrays.get_real("offset", n, 3), arrays.get_real("constant", r)
    return StandaloneModel(body, basis, system, arrays.get_scale("frequency"), offset, constant)


# --- the model in a file


def is_spring_system(system: tuple[Any, ...]) -> bool:
    """True for the kernel data of springs, False for those of a polynomial; see `kernels_trajectory`."""
    return len(system[6]) > 0


def build_system_arrays(system: tuple[Any, ...]) -> dict[str, NDArray[Any]]:
    """The kernel data of a model by the names of files.

    Solids: stiffness K0 (r, r), and cubic (r, pairs), quartic (r, triples), the third and fourth derivatives of the
    energy, ∂³W/∂z_l∂z_i∂z_j at [l, (i, j)] with i >= j, ∂⁴W/∂z_l∂z_i∂z_j∂z_k at [l, (i, j, k)] with i >= j >= k, each
    numbered in lexical order; alpha, beta: damping. Springs: points (p, 3), point_basis (3p, r), springs (m, 3) of
    stiffness, rest length and damping, spring_ends (m, 2).
    """
    if is_spring_system(system):
        return dict(zip(("points", "point_basis", "springs", "spring_ends"), system[5:]))
    return {name: np.asarray(value) for name, value in zip(("stiffness", "cubic", "quartic", "alpha", "beta"), system)}


@dataclass(frozen=True, eq=False)
class StandaloneBody:
    """The part of a body that a file holds: rest positions, masses, and the surface on the same numbering.

    scalar_mass: (n, n) [kg], the mass matrix of one coordinate; size [m] and total_mass [kg]: those of the body.
    """

    mesh: MeshTri | MeshLine
    scalar_mass: sp.csr_array
    total_mass: float
    size: float

    @property
    def vertices(self) -> Array:
        return self.mesh.vertices

    @property
    def vertex_count(self) -> int:
        return len(self.mesh.vertices)

    @cached_property
    def mass(self) -> sp.csr_array:
        """Mass matrix (3n, 3n) [kg]."""
        return sp.csr_array(sp.kron(self.scalar_mass, sp.eye_array(3), format="csr"))

    @cached_property
    def vertex_masses(self) -> Array:
        """(n,) [kg]"""
        return np.asarray(self.scalar_mass @ np.ones(self.vertex_count))

    def get_display_mesh(self) -> MeshTri | MeshLine:
        return self.mesh

    def check_vertex_vectors(self, displacement: ArrayLike, name: str = "displacement") -> Array:
        """`displacement` as a finite (n, 3) array."""
        return checks.require_real_array(displacement, name, (self.vertex_count, 3))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a loaded controller has no {name!r} of its body: the file holds how it moves, not what it is made of;"
            " use the body it was made from"
        )


class StandaloneModel(ReducedModel):
    """A reduced model from tables, without the body they come from; u = u₀ + U z.

    kernel_data: see `kernels_trajectory`; first_angular_frequency: ω₁ [rad/s]; offset: u₀ (n, 3); constant_force:
    Uᵀf(u₀) (r,).
    """

    def __init__(
        self,
        body: StandaloneBody,
        basis: Array,
        kernel_data: tuple[Any, ...],
        first_angular_frequency: float,
        offset: Array,
        constant_force: Array,
    ):
        super().__init__(basis, constant_force)
        # it has the attributes that controllers use, and names the reason when asked for others
        self.body = cast(Body, body)
        self.offset, self._system, self._frequency = offset, kernel_data, first_angular_frequency

    @property
    def kernel_data(self) -> tuple[Any, ...]:
        return self._system

    @cached_property
    def first_angular_frequency(self) -> float:
        return self._frequency

    def project(self, displacement: ArrayLike) -> Array:
        """z = UᵀM (u - u₀)."""
        u = np.asarray(displacement, dtype=np.float64)
        return super().project(u - self.offset if u.shape[-2:] == self.offset.shape else u)

    def lift(self, state: ArrayLike) -> Array:
        """u = u₀ + U z."""
        u = super().lift(state)
        return u + self.offset if self.offset.any() else u

    def get_table_arrays(self) -> dict[str, Array]:
        return build_system_arrays(self._system)

    def energy(self, state: ArrayLike) -> float:
        """W(u₀ + Uz) - W(u₀) [J]."""
        z = self._check_state(state)
        products, vectors, points = self._workspace
        if is_spring_system(self._system):
            return float(compute_energy_springs(*self._system[5:], z, points[0]))
        return float(
            self.constant_force @ z
            + compute_force_and_stiffness(z, *self._system[:3], *products, vectors[0], vectors[3])
        )
