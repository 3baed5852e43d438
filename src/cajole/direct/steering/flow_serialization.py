"""Controllers of flows in files: one .npz of plain arrays, which runs as it is."""

from __future__ import annotations

import os

import numpy as np

from cajole import checks
from cajole.direct.steering.cost import FlowCostWeights
from cajole.direct.steering.flow_controller import FlowController
from cajole.direct.steering.lqr import FORMULATIONS
from cajole.errors import FileError, InputError
from cajole.reduction.flow_serialization import pack_shot, unpack_shot
from cajole.storage import read_arrays, write_arrays

FLOW_CONTROLLER_FORMAT = "cajole flow controller 1"
WEIGHT_NAMES = ("tracking", "final", "effort", "velocity_tracking")
FLOW_CONTROLLER_ARRAYS = frozenset({
    "format", "formulation", "gains", "value", "seconds", "dials", "frame_numbers", "frame_weights",
    "particle_weights", "grid", "dt", "basis", "energies", "missed", "advection", "diffusion", "states", "particles",
    "feed_forward", "outside",
})  # fmt: skip


def save_flow_controller(controller: FlowController, path: str | os.PathLike[str]) -> None:
    """Write a controller with its shot and model; see `FlowController.save`."""
    dials = controller.cost_weights
    frames = dials.frames or {}
    arrays = pack_shot(controller.reference) | {
        "format": np.array(FLOW_CONTROLLER_FORMAT),
        "formulation": np.array(controller.formulation),
        "gains": controller.gains,
        "value": controller.cost_to_go,
        "seconds": np.array(controller.gain_seconds),
        "dials": np.array([getattr(dials, name) for name in WEIGHT_NAMES]),
        "frame_numbers": np.array(list(frames), dtype=np.int64),
        "frame_weights": np.array(list(frames.values())),
    }
    if dials.particles is not None:
        arrays["particle_weights"] = np.asarray(dials.particles, dtype=np.float64)
    write_arrays(path, arrays)


def is_flow_controller_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it holds one; what cannot be read does not."""
    try:
        return str(read_arrays(path, lambda name: name == "format").get("format")) == FLOW_CONTROLLER_FORMAT
    except FileError:
        return False


def load_flow_controller(path: str | os.PathLike[str]) -> FlowController:
    """The controller in a file that `FlowController.save` wrote: it runs to the same bit, and can be retuned.

    Raises FileError for a file that is damaged or of another kind.
    """
    arrays = read_arrays(path, lambda name: name in FLOW_CONTROLLER_ARRAYS)
    if str(arrays.get("format")) != FLOW_CONTROLLER_FORMAT:
        raise FileError(f"{path} holds no controller of a flow; write one with controller.save")
    try:
        shot = unpack_shot(arrays)
        r, size = shot.model.size, 2 * shot.particles.shape[1] + shot.model.size
        gains = checks.require_real_array(arrays["gains"], "gains", (shot.step_count, r, size))
        value = checks.require_real_array(arrays["value"], "value", (size, size))
        numbers = checks.require_real_array(arrays["dials"], "dials", (len(WEIGHT_NAMES),)).tolist()
        frames = dict(zip(arrays["frame_numbers"].tolist(), arrays["frame_weights"].tolist())) or None
        formulation = checks.require_choice(str(arrays["formulation"]), "formulation", FORMULATIONS)
        dials = FlowCostWeights(
            **dict(zip(WEIGHT_NAMES, numbers)), frames=frames, particles=arrays.get("particle_weights")
        )
        return FlowController(shot, dials, gains, value, formulation, float(arrays["seconds"]))
    except (InputError, KeyError, TypeError, ValueError) as reason:
        raise FileError(f"cannot load a controller from {path}: {reason}") from None
