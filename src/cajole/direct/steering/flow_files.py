"""Controllers of flows in files: one .npz of plain arrays, which runs as it is."""

from __future__ import annotations

import os

import numpy as np

from cajole import checks
from cajole.direct.steering.flow import FlowController
from cajole.direct.steering.flow_costs import FlowDials
from cajole.direct.steering.regulator import FORMULATIONS
from cajole.errors import FileError, InputError
from cajole.reduction.flow_files import shot_arrays, shot_from
from cajole.storage import read_arrays, write_arrays

FORMAT = "cajole flow controller 1"
NAMES = ("tracking", "final", "effort", "currents")
MEMBERS = frozenset({
    "format", "formulation", "gains", "value", "seconds", "dials", "frame_numbers", "frame_weights",
    "particle_weights", "grid", "dt", "basis", "energies", "missed", "advection", "diffusion", "states", "particles",
    "feed_forward", "outside",
})  # fmt: skip


def save_flow_controller(controller: FlowController, path: str | os.PathLike[str]) -> None:
    """Write a controller with its shot and model; see `FlowController.save`."""
    dials = controller.dials
    frames = dials.frames or {}
    arrays = shot_arrays(controller.reference) | {
        "format": np.array(FORMAT), "formulation": np.array(controller.formulation), "gains": controller.gains,
        "value": controller.value, "seconds": np.array(controller.seconds),
        "dials": np.array([getattr(dials, name) for name in NAMES]),
        "frame_numbers": np.array(list(frames), dtype=np.int64), "frame_weights": np.array(list(frames.values())),
    }  # fmt: skip
    if dials.particles is not None:
        arrays["particle_weights"] = np.asarray(dials.particles, dtype=np.float64)
    write_arrays(path, arrays)


def holds_flow_controller(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it holds one; what cannot be read does not."""
    try:
        return str(read_arrays(path, lambda name: name == "format").get("format")) == FORMAT
    except FileError:
        return False


def load_flow_controller(path: str | os.PathLike[str]) -> FlowController:
    """The controller in a file that `FlowController.save` wrote: it runs to the same bit, and can be retuned.

    Raises FileError for a file that is damaged or of another kind.
    """
    arrays = read_arrays(path, lambda name: name in MEMBERS)
    if str(arrays.get("format")) != FORMAT:
        raise FileError(f"{path} holds no controller of a flow; write one with controller.save")
    try:
        shot = shot_from(arrays)
        r, size = shot.model.size, 2 * shot.particles.shape[1] + shot.model.size
        gains = checks.real_array(arrays["gains"], "gains", (shot.steps, r, size))
        value = checks.real_array(arrays["value"], "value", (size, size))
        numbers = checks.real_array(arrays["dials"], "dials", (len(NAMES),)).tolist()
        frames = dict(zip(arrays["frame_numbers"].tolist(), arrays["frame_weights"].tolist())) or None
        formulation = checks.one_of(str(arrays["formulation"]), "formulation", FORMULATIONS)
        dials = FlowDials(**dict(zip(NAMES, numbers)), frames=frames, particles=arrays.get("particle_weights"))
        return FlowController(shot, dials, gains, value, formulation, float(arrays["seconds"]))
    except (InputError, KeyError, TypeError, ValueError) as reason:
        raise FileError(f"cannot load a controller from {path}: {reason}") from None
