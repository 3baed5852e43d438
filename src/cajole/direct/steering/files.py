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
from cajole.direct.steering.costs import Dial, Dials
from cajole.direct.steering.flow_files import FORMAT as FLOW_FORMAT
from cajole.direct.steering.live import skin_basis
from cajole.direct.steering.motion import Reference
from cajole.direct.steering.regulator import FORMULATIONS, Regulator
from cajole.direct.steering.travelling import TravellingBody, TravellingModel, system_arrays
from cajole.errors import FileError, InputError, SolveError
from cajole.mesh import MeshLine, MeshTri, Skin
from cajole.storage import read_arrays, write_arrays

FORMAT, VERSION = "cajole controller", 1
# what is read of a file; how its skin moves is for the runtime in a browser
MEMBERS = frozenset({
    "format", "version", "dt", "loop", "substeps", "course", "accelerations", "feed_forward", "gains", "value",
    "kind", "formulation", "seconds", "motion_error", "basis", "vertices", "triangles", "lines", "mass_data",
    "mass_indices", "mass_indptr", "total_mass", "size", "frequency", "offset", "constant", "stiffness", "cubic",
    "quartic", "alpha", "beta", "points", "point_basis", "springs", "spring_ends", "final", "tracking",
    "tracking_over_time", "effort", "effort_over_time", "frame_numbers", "frame_weights", "vertex_numbers",
    "vertex_weights",
})  # fmt: skip


def save_controller(controller: Controller, path: str | os.PathLike[str], skin: Skin | None = None) -> None:
    """Write what runs the controller, and how `skin` moves with it; see `Controller.save`."""
    reference, made = controller.reference, controller.regulator
    arrays: dict[str, ArrayLike] = {
        "format": FORMAT, "version": VERSION,
        "dt": reference.dt, "loop": int(reference.loop), "substeps": reference.substeps,
        "course": reference.course, "accelerations": reference.accelerations, "feed_forward": reference.feed_forward,
        "gains": made.gains, "value": made.value, "kind": made.kind,
        "formulation": controller.formulation, "seconds": controller.seconds,
    }  # fmt: skip
    if reference.motion_error is not None:
        arrays["motion_error"] = reference.motion_error
    arrays |= _model_arrays(controller) | _dial_arrays(controller)
    if skin is not None:
        arrays |= _skin_arrays(controller, skin)
    write_arrays(path, {name: np.asarray(value) for name, value in arrays.items()})


def load_controller(path: str | os.PathLike[str]) -> Controller:
    """The controller in a file that `Controller.save` wrote, ready to run; it needs no body.

    Its states are those of the controller that was saved, to the last bit. It can be retuned; animations are on the
    body's surface; what only the body knows (materials, elements) is not there.
    Raises FileError for a file that is damaged, of another kind, or of a later version.
    """
    return _load(path, derivatives=True)


def inspect_controller(path: str | os.PathLike[str]) -> Controller:
    """The controller in a file, checked as by `load_controller`, but without Gq and Gv: to look at, not to run.

    Derivatives take one evaluation of the model for each step, by compiled kernels.
    """
    return _load(path, derivatives=False)


def _load(path: str | os.PathLike[str], *, derivatives: bool) -> Controller:
    try:
        return _controller(_Stored(read_arrays(path, lambda name: name in MEMBERS)), derivatives)
    except FileError:
        raise
    except (InputError, SolveError, ValueError, OverflowError, MemoryError, zlib.error) as reason:
        raise FileError(
            f"cannot load a controller from {path}: {reason}; write it again with controller.save"
        ) from None


# --- writing


def _model_arrays(controller: Controller) -> dict[str, ArrayLike]:
    model = controller.model
    body, mesh = model.body, model.body.drawn_mesh()
    masses = sp.csr_array(body.mass[::3, ::3])
    lines = isinstance(mesh, MeshLine)
    triangles = np.empty((0, 3)) if isinstance(mesh, MeshLine) else mesh.surface.triangles
    return {
        "basis": model.basis, "vertices": body.vertices, "triangles": triangles.astype(np.int32),
        **({"lines": mesh.elements.astype(np.int32)} if lines else {}),
        "mass_data": masses.data, "mass_indices": masses.indices.astype(np.int32),
        "mass_indptr": masses.indptr.astype(np.int64),
        "total_mass": body.total_mass, "size": body.size, "frequency": model.frequency,
        "offset": model.lift(np.zeros(model.size)), "constant": model.constant,
        **system_arrays(model.system),
    }  # fmt: skip


def _dial_arrays(controller: Controller) -> dict[str, ArrayLike]:
    """The dials; of functions of time their values at the end of every step, which is all that is asked of them."""
    dials, reference = controller.dials, controller.reference
    arrays: dict[str, ArrayLike] = {"final": dials.final}
    for name, dial in (("tracking", dials.tracking), ("effort", dials.effort)):
        if callable(dial):
            times = reference.dt * np.arange(1, reference.steps + 1)
            arrays[f"{name}_over_time"] = np.array([dial(float(t)) for t in times], dtype=np.float64)
        else:
            arrays[name] = np.asarray(dial, dtype=np.float64)
    for name, chosen in (("frame", dials.frames), ("vertex", dials.vertices)):
        if chosen is not None:
            weights = chosen if isinstance(chosen, Mapping) else dict.fromkeys(np.ravel(chosen).tolist(), 1.0)
            arrays[f"{name}_numbers"] = np.array(list(weights), dtype=np.int64)
            arrays[f"{name}_weights"] = np.array(list(weights.values()), dtype=np.float64)
    return arrays


def _skin_arrays(controller: Controller, skin: Skin) -> dict[str, ArrayLike]:
    rest, columns = skin_basis(controller.model, skin)
    return {
        "skin_vertices": rest, "skin_basis": columns, "skin_triangles": skin.mesh.triangles.astype(np.int32),
        "skin_colors": skin.colors.astype(np.float32),
    }  # fmt: skip


# --- reading


@dataclass(frozen=True)
class _Stored:
    """The arrays of a file, each checked when asked for. Raises InputError for what is missing or does not fit."""

    arrays: Mapping[str, NDArray[Any]]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def any(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise InputError(f"there is no array {name!r} in it")
        return self.arrays[name]

    def scalar(self, name: str) -> Any:
        return self.any(name)[()]

    def text(self, name: str) -> str:
        return str(self.any(name)) if self.any(name).dtype.kind == "U" else ""

    def number(self, name: str, *, zero: bool = False) -> float:
        return checks.positive(checks.real_number(self.scalar(name), name), name, zero=zero)

    def scale(self, name: str) -> float:
        """A measure that is squared while the controller runs."""
        return checks.moderate(checks.real_number(self.scalar(name), name), name)

    def whole(self, name: str, most: int) -> int:
        return checks.count(self.scalar(name), name, least=0, most=most)

    def real(self, name: str, *shape: int | None) -> Array:
        array = self.any(name)
        if array.dtype.kind != "f":
            raise InputError(f"{name} holds {array.dtype}, not real numbers")
        return checks.real_array(array, name, shape)

    def dial(self, name: str) -> float | Array:
        shape = self.any(name).shape
        return self.real(name, *shape) if shape else self.number(name, zero=True)

    def index(self, name: str, shape: tuple[int | None, ...], limit: int) -> NDArray[np.int64]:
        return checks.index_array(self.any(name), name, shape, limit)


def _controller(stored: _Stored, derivatives: bool) -> Controller:
    if "format" in stored and stored.text("format") == FLOW_FORMAT:
        raise InputError("it holds a controller of a flow, which load_flow_controller reads")
    if "format" not in stored or stored.text("format") != FORMAT:
        raise InputError(f"it is not marked as a {FORMAT!r}")
    version = stored.any("version")
    if version.shape != () or version.dtype.kind != "i" or int(version) != VERSION:
        raise InputError(f"it is of format version {version}, and this Cajole reads version {VERSION}")
    reference = _reference(stored, derivatives)
    T, r = reference.feed_forward.shape
    gains, value = stored.real("gains", T, r, 2 * r), stored.real("value", 2 * r, 2 * r)
    made = Regulator(gains, value, stored.whole("kind", max(kernels.PREDICTOR, kernels.FRAME)))
    formulation = checks.one_of(stored.text("formulation"), "formulation", FORMULATIONS)
    return Controller(
        reference, _dials(stored, reference.dt, T), made, formulation, stored.number("seconds", zero=True)
    )


def _reference(stored: _Stored, derivatives: bool) -> Reference:
    model = _model(stored)
    r = model.size
    feed_forward = stored.real("feed_forward", None, r)
    T = len(feed_forward)
    if T < 1:
        raise InputError("its reference has no steps")
    course = stored.real("course", 2, T + 1, 2, r)
    # derivatives are not stored: they are many numbers, and one evaluation a step makes them again
    found = [model.motion(q, v)[1:] for q, v in course[1, 1:]] if derivatives else []
    return Reference(
        model, stored.scale("dt"), course, stored.real("accelerations", T, r), feed_forward,
        np.array([Gq for Gq, _ in found]), np.array([Gv for _, Gv in found]),
        loop=bool(stored.whole("loop", 1)),
        motion_error=stored.real("motion_error", T + 1) if "motion_error" in stored else None,
        substeps=max(1, stored.whole("substeps", T)) if "substeps" in stored else 1,
    )  # fmt: skip


def _model(stored: _Stored) -> TravellingModel:
    vertices = stored.real("vertices", None, 3)
    n = len(vertices)
    basis = stored.real("basis", 3 * n, None)
    mesh: MeshTri | MeshLine
    if "lines" in stored:
        mesh = MeshLine(vertices, stored.index("lines", (None, 2), n))
    else:
        mesh = MeshTri(vertices, stored.index("triangles", (None, 3), n))
    masses = _masses(stored, n)
    body = TravellingBody(mesh, masses, stored.scale("total_mass"), stored.scale("size"))
    offset, constant = stored.real("offset", n, 3), stored.real("constant", basis.shape[1])
    system = _system(stored, basis.shape[1])
    return TravellingModel(body, basis, system, stored.scale("frequency"), offset, constant)


def _masses(stored: _Stored, n: int) -> sp.csr_array:
    data = stored.real("mass_data", None)
    columns = stored.index("mass_indices", (len(data),), n)
    starts = stored.index("mass_indptr", (n + 1,), len(data) + 1)
    masses = sp.csr_array((data, columns, starts), shape=(n, n))
    masses.check_format(full_check=True)
    return masses


def _system(stored: _Stored, r: int) -> tuple:
    """As `kernels_motion` takes it."""
    none, no_ends = np.empty((0, 0)), np.empty((0, 2), dtype=np.int64)
    if "springs" in stored:
        points, rows = stored.real("points", None, 3), stored.real("springs", None, 3)
        ends = stored.index("spring_ends", (len(rows), 2), len(points))
        return (none, none, none, 0.0, 0.0, points, stored.real("point_basis", 3 * len(points), r), rows, ends)
    pairs = r * (r + 1) // 2
    cubic, quartic = stored.real("cubic", r, pairs), stored.real("quartic", r, pairs * (r + 2) // 3)
    tables = stored.real("stiffness", r, r), cubic, quartic
    return (*tables, stored.number("alpha", zero=True), stored.number("beta", zero=True), none, none, none, no_ends)


def _dials(stored: _Stored, dt: float, steps: int) -> Dials:
    frames, vertices = _weights(stored, "frame"), _weights(stored, "vertex")
    tracking, effort = _dial(stored, "tracking", dt, steps), _dial(stored, "effort", dt, steps)
    return Dials(tracking, stored.dial("final"), effort, frames, vertices)


def _dial(stored: _Stored, name: str, dt: float, steps: int) -> Dial:
    if f"{name}_over_time" not in stored:
        return stored.dial(name)
    values = stored.real(f"{name}_over_time", steps, *stored.any(f"{name}_over_time").shape[1:])
    return _sampled(values, dt)


def _sampled(values: Array, dt: float) -> Callable[[float], ArrayLike]:
    def dial(t: float) -> ArrayLike:
        return values[round(t / dt) - 1]

    return dial


def _weights(stored: _Stored, name: str) -> dict[int, float] | None:
    if f"{name}_numbers" not in stored:
        return None
    numbers = stored.index(f"{name}_numbers", (None,), np.iinfo(np.int64).max)
    return dict(zip(numbers.tolist(), stored.real(f"{name}_weights", len(numbers)).tolist()))
