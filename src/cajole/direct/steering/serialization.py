"""Controllers in files: one .npz that runs without the body, in Python and, with `runtime/steer.js`, in a browser.

The zip is stored and not compressed, its members are plain arrays (docs/runtime.md lists them); nothing is unpickled.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.controller import Controller
from cajole.direct.steering.cost import CostWeights, TimeVaryingWeight
from cajole.direct.steering.flow_serialization import FLOW_CONTROLLER_FORMAT as FLOW_FORMAT
from cajole.direct.steering.lqr import FORMULATIONS, FeedbackGains
from cajole.direct.steering.realtime_controller import build_skin_basis
from cajole.direct.steering.reference import Reference
from cajole.direct.steering.standalone_model import StandaloneBody, StandaloneModel, build_system_arrays
from cajole.errors import FileError, InputError, SolveError
from cajole.mesh import MeshLine, MeshTri, Skin
from cajole.storage import read_arrays, write_arrays

CONTROLLER_FORMAT, CONTROLLER_VERSION = "cajole controller", 1
# what is read of a file; how its skin moves is for the runtime in a browser
CONTROLLER_ARRAYS = frozenset({
    "format", "version", "dt", "loop", "substeps", "course", "accelerations", "feed_forward", "gains", "value",
    "kind", "formulation", "seconds", "motion_error", "basis", "vertices", "triangles", "lines", "mass_data",
    "mass_indices", "mass_indptr", "total_mass", "size", "frequency", "offset", "constant", "stiffness", "cubic",
    "quartic", "alpha", "beta", "points", "point_basis", "springs", "spring_ends", "final", "tracking",
    "tracking_over_time", "effort", "effort_over_time", "frame_numbers", "frame_weights", "vertex_numbers",
    "vertex_weights",
})  # fmt: skip


def save_controller(controller: Controller, path: str | os.PathLike[str], skin: Skin | None = None) -> None:
    """Write what runs the controller, and how `skin` moves with it; see `Controller.save`."""
    reference, made = controller.reference, controller.feedback_gains
    arrays: dict[str, ArrayLike] = {
        "format": CONTROLLER_FORMAT,
        "version": CONTROLLER_VERSION,
        "dt": reference.dt,
        "loop": int(reference.loop),
        "substeps": reference.substeps,
        "course": reference.trajectory,
        "accelerations": reference.accelerations,
        "feed_forward": reference.feed_forward,
        "gains": made.gains,
        "value": made.cost_to_go,
        "kind": made.state_kind,
        "formulation": controller.formulation,
        "seconds": controller.gain_seconds,
    }
    if reference.projection_error is not None:
        arrays["motion_error"] = reference.projection_error
    arrays |= _build_model_arrays(controller) | _build_weight_arrays(controller)
    if skin is not None:
        arrays |= _build_skin_arrays(controller, skin)
    write_arrays(path, {name: np.asarray(value) for name, value in arrays.items()})


def load_controller(path: str | os.PathLike[str]) -> Controller:
    """The controller in a file that `Controller.save` wrote, ready to run; it needs no body.

    Its states are those of the controller that was saved, to the last bit. It can be retuned; animations are on the
    body's surface; what only the body knows (materials, elements) is not there.
    Raises FileError for a file that is damaged, of another kind, or of a later version.
    """
    return _load_and_check(path, derivatives=True)


def load_controller_without_derivatives(path: str | os.PathLike[str]) -> Controller:
    """The controller in a file, checked as by `load_controller`, but without Gq and Gv: to look at, not to run.

    Derivatives take one evaluation of the model for each step, by compiled kernels.
    """
    return _load_and_check(path, derivatives=False)


def _load_and_check(path: str | os.PathLike[str], *, derivatives: bool) -> Controller:
    try:
        return _build_controller(
            _ControllerArrays(read_arrays(path, lambda name: name in CONTROLLER_ARRAYS)), derivatives
        )
    except FileError:
        raise
    except (InputError, SolveError, ValueError, OverflowError, MemoryError, zlib.error) as reason:
        raise FileError(
            f"cannot load a controller from {path}: {reason}; write it again with controller.save"
        ) from None


# --- writing


def _build_model_arrays(controller: Controller) -> dict[str, ArrayLike]:
    model = controller.model
    body, mesh = model.body, model.body.get_display_mesh()
    masses = sp.csr_array(body.mass[::3, ::3])
    lines = isinstance(mesh, MeshLine)
    triangles = np.empty((0, 3)) if isinstance(mesh, MeshLine) else mesh.surface.triangles
    return {
        "basis": model.basis, "vertices": body.vertices, "triangles": triangles.astype(np.int32),
        **({"lines": mesh.elements.astype(np.int32)} if lines else {}),
        "mass_data": masses.data, "mass_indices": masses.indices.astype(np.int32),
        "mass_indptr": masses.indptr.astype(np.int64),
        "total_mass": body.total_mass, "size": body.size, "frequency": model.first_angular_frequency,
        "offset": model.lift(np.zeros(model.size)), "constant": model.constant_force,
        **build_system_arrays(model.kernel_data),
    }  # fmt: skip


def _build_weight_arrays(controller: Controller) -> dict[str, ArrayLike]:
    """The dials; of functions of time their values at the end of every step, which is all that is asked of them."""
    dials, reference = controller.cost_weights, controller.reference
    arrays: dict[str, ArrayLike] = {"final": dials.final}
    for name, dial in (("tracking", dials.tracking), ("effort", dials.effort)):
        if callable(dial):
            times = reference.dt * np.arange(1, reference.step_count + 1)
            arrays[f"{name}_over_time"] = np.array([dial(float(t)) for t in times], dtype=np.float64)
        else:
            arrays[name] = np.asarray(dial, dtype=np.float64)
    for name, chosen in (("frame", dials.frames), ("vertex", dials.vertices)):
        if chosen is not None:
            weights = chosen if isinstance(chosen, Mapping) else dict.fromkeys(np.ravel(chosen).tolist(), 1.0)
            arrays[f"{name}_numbers"] = np.array(list(weights), dtype=np.int64)
            arrays[f"{name}_weights"] = np.array(list(weights.values()), dtype=np.float64)
    return arrays


def _build_skin_arrays(controller: Controller, skin: Skin) -> dict[str, ArrayLike]:
    rest, columns = build_skin_basis(controller.model, skin)
    return {
        "skin_vertices": rest, "skin_basis": columns, "skin_triangles": skin.mesh.triangles.astype(np.int32),
        "skin_colors": skin.colors.astype(np.float32),
    }  # fmt: skip


# --- reading


@dataclass(frozen=True)
class _ControllerArrays:
    """The arrays of a file, each checked when asked for. Raises InputError for what is missing or does not fit."""

    arrays: Mapping[str, NDArray[Any]]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def get(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise InputError(f"there is no array {name!r} in it")
        return self.arrays[name]

    def get_scalar(self, name: str) -> Any:
        return self.get(name)[()]

    def get_text(self, name: str) -> str:
        return str(self.get(name)) if self.get(name).dtype.kind == "U" else ""

    def get_number(self, name: str, *, zero: bool = False) -> float:
        return checks.require_positive(checks.require_real_number(self.get_scalar(name), name), name, allow_zero=zero)

    def get_scale(self, name: str) -> float:
        """A measure that is squared while the controller runs."""
        return checks.require_safe_magnitude(checks.require_real_number(self.get_scalar(name), name), name)

    def get_count(self, name: str, most: int) -> int:
        return checks.require_integer(self.get_scalar(name), name, minimum=0, maximum=most)

    def get_real(self, name: str, *shape: int | None) -> Array:
        array = self.get(name)
        if array.dtype.kind != "f":
            raise InputError(f"{name} holds {array.dtype}, not real numbers")
        return checks.require_real_array(array, name, shape)

    def get_weight(self, name: str) -> float | Array:
        shape = self.get(name).shape
        return self.get_real(name, *shape) if shape else self.get_number(name, zero=True)

    def get_indices(self, name: str, shape: tuple[int | None, ...], limit: int) -> NDArray[np.int64]:
        return checks.require_index_array(self.get(name), name, shape, limit)


def _build_controller(arrays: _ControllerArrays, derivatives: bool) -> Controller:
    if "format" in arrays and arrays.get_text("format") == FLOW_FORMAT:
        raise InputError("it holds a controller of a flow, which load_flow_controller reads")
    if "format" not in arrays or arrays.get_text("format") != CONTROLLER_FORMAT:
        raise InputError(f"it is not marked as a {CONTROLLER_FORMAT!r}")
    version = arrays.get("version")
    if version.shape != () or version.dtype.kind != "i" or int(version) != CONTROLLER_VERSION:
        raise InputError(f"it is of format version {version}, and this Cajole reads version {CONTROLLER_VERSION}")
    reference = _build_reference(arrays, derivatives)
    T, r = reference.feed_forward.shape
    gains, value = arrays.get_real("gains", T, r, 2 * r), arrays.get_real("value", 2 * r, 2 * r)
    made = FeedbackGains(gains, value, arrays.get_count("kind", max(kernels.PREDICTOR_STATE, kernels.FRAME_STATE)))
    formulation = checks.require_choice(arrays.get_text("formulation"), "formulation", FORMULATIONS)
    return Controller(
        reference,
        _build_cost_weights(arrays, reference.dt, T),
        made,
        formulation,
        arrays.get_number("seconds", zero=True),
    )


def _build_reference(arrays: _ControllerArrays, derivatives: bool) -> Reference:
    model = _build_model(arrays)
    r = model.size
    feed_forward = arrays.get_real("feed_forward", None, r)
    T = len(feed_forward)
    if T < 1:
        raise InputError("its reference has no steps")
    course = arrays.get_real("course", 2, T + 1, 2, r)
    # derivatives are not stored: they are many numbers, and one evaluation a step makes them again
    found = [model.evaluate_dynamics(q, v)[1:] for q, v in course[1, 1:]] if derivatives else []
    return Reference(
        model, arrays.get_scale("dt"), course, arrays.get_real("accelerations", T, r), feed_forward,
        np.array([Gq for Gq, _ in found]), np.array([Gv for _, Gv in found]),
        loop=bool(arrays.get_count("loop", 1)),
        projection_error=arrays.get_real("motion_error", T + 1) if "motion_error" in arrays else None,
        substeps=max(1, arrays.get_count("substeps", T)) if "substeps" in arrays else 1,
    )  # fmt: skip


def _build_model(arrays: _ControllerArrays) -> StandaloneModel:
    vertices = arrays.get_real("vertices", None, 3)
    n = len(vertices)
    basis = arrays.get_real("basis", 3 * n, None)
    mesh: MeshTri | MeshLine
    if "lines" in arrays:
        mesh = MeshLine(vertices, arrays.get_indices("lines", (None, 2), n))
    else:
        mesh = MeshTri(vertices, arrays.get_indices("triangles", (None, 3), n))
    masses = _build_mass_matrix(arrays, n)
    body = StandaloneBody(mesh, masses, arrays.get_scale("total_mass"), arrays.get_scale("size"))
    offset, constant = arrays.get_real("offset", n, 3), arrays.get_real("constant", basis.shape[1])
    system = _build_system(arrays, basis.shape[1])
    return StandaloneModel(body, basis, system, arrays.get_scale("frequency"), offset, constant)


def _build_mass_matrix(arrays: _ControllerArrays, n: int) -> sp.csr_array:
    data = arrays.get_real("mass_data", None)
    columns = arrays.get_indices("mass_indices", (len(data),), n)
    starts = arrays.get_indices("mass_indptr", (n + 1,), len(data) + 1)
    masses = sp.csr_array((data, columns, starts), shape=(n, n))
    masses.check_format(full_check=True)
    return masses


def _build_system(arrays: _ControllerArrays, r: int) -> tuple:
    """As `kernels_motion` takes it."""
    none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
    if "springs" in arrays:
        points, rows = arrays.get_real("points", None, 3), arrays.get_real("springs", None, 3)
        ends = arrays.get_indices("spring_ends", (len(rows), 2), len(points))
        return (none, none, none, 0.0, 0.0, points, arrays.get_real("point_basis", 3 * len(points), r), rows, ends)
    pairs = r * (r + 1) // 2
    cubic, quartic = arrays.get_real("cubic", r, pairs), arrays.get_real("quartic", r, pairs * (r + 2) // 3)
    tables = arrays.get_real("stiffness", r, r), cubic, quartic
    return (
        *tables,
        arrays.get_number("alpha", zero=True),
        arrays.get_number("beta", zero=True),
        none,
        none,
        none,
        no_ends,
    )


def _build_cost_weights(arrays: _ControllerArrays, dt: float, steps: int) -> CostWeights:
    frames, vertices = _get_weight_mapping(arrays, "frame"), _get_weight_mapping(arrays, "vertex")
    tracking, effort = _build_weight(arrays, "tracking", dt, steps), _build_weight(arrays, "effort", dt, steps)
    return CostWeights(tracking, arrays.get_weight("final"), effort, frames, vertices)


def _build_weight(arrays: _ControllerArrays, name: str, dt: float, steps: int) -> TimeVaryingWeight:
    if f"{name}_over_time" not in arrays:
        return arrays.get_weight(name)
    values = arrays.get_real(f"{name}_over_time", steps, *arrays.get(f"{name}_over_time").shape[1:])
    return _make_step_function(values, dt)


def _make_step_function(values: Array, dt: float) -> Callable[[float], ArrayLike]:
    def evaluate_weight(t: float) -> ArrayLike:
        return values[round(t / dt) - 1]

    return evaluate_weight


def _get_weight_mapping(arrays: _ControllerArrays, name: str) -> dict[int, float] | None:
    if f"{name}_numbers" not in arrays:
        return None
    numbers = arrays.get_indices(f"{name}_numbers", (None,), np.iinfo(np.int64).max)
    return dict(zip(numbers.tolist(), arrays.get_real(f"{name}_weights", len(numbers)).tolist()))
