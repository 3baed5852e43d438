"""A controller in live use: pushed, stepped and looked at, for as long as one likes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body.body_weights import compute_modal_body_weights
from cajole.direct.steering.controller import LINEAR_RANGE, Controller
from cajole.direct.steering.disturbances import Disturbance, reduce_point_force
from cajole.direct.steering.realtime import ActiveForce, RealtimeControllerBase
from cajole.direct.steering.stepper import ControlledStepper
from cajole.errors import InputError, NotConverged
from cajole.locking import synchronized
from cajole.mesh import Skin
from cajole.reduction import ReducedModel


class RealtimeController(RealtimeControllerBase[Controller]):
    """A body under control in real time. `step` goes on one step; the reference is gone through again and again.

    controlled: whether feedback acts; it may be changed at any time. cuts: how many steps had to be cut into parts.
    Several threads may use it: steps, pushes and looks take turns, and `step(count)` is one turn.
    """

    def __init__(self, controller: Controller, *, controlled: bool = True):
        super().__init__(controller, controlled)
        self._stepper = ControlledStepper(controller.reference)
        self._skin_cache: tuple[Skin, Array, Array] | None = None
        self._seek_step = 0

    @property
    @synchronized
    def frame(self) -> int:
        """The frame of the reference that is being followed, one to a step."""
        return self._stepper.step_index % self._controller.reference.step_count

    @property
    def subdivided_step_count(self) -> int:
        """How often a step had to be cut into parts so far."""
        return self._stepper.subdivided_step_count

    @property
    @synchronized
    def state(self) -> tuple[Array, Array]:
        """Position and velocity (r,) in reduced coordinates."""
        return self._stepper.state[3].copy(), self._stepper.state[4].copy()

    @property
    @synchronized
    def error(self) -> float:
        """Distance to the frame being followed, in body sizes."""
        reference = self._controller.reference
        at = self._stepper.step_index
        frame = at % reference.step_count if at in (0, self._seek_step) else 1 + (at - 1) % reference.step_count
        return (
            float(np.linalg.norm(self._stepper.state[3] - reference.states[frame])) / self._controller.model.unit_length
        )

    @property
    def is_outside_linear_range(self) -> bool:
        """Whether the body is farther off than the gains, made for small deviations, promise to bring back."""
        return self.error > LINEAR_RANGE

    @property
    def gentleness(self) -> float:
        """The feedback of the last step, in body weights."""
        return float(compute_modal_body_weights(self._feedback, self._controller.model.body.total_mass))

    @synchronized
    def push(self, vertex: int, force: ArrayLike, duration: float = 0.1) -> None:
        """Push `vertex` with force (3,) [N] for `duration` [s] from the next step on. Pushes add up."""
        model, dt = self._controller.model, self._controller.reference.dt
        self._active_forces.append(
            ActiveForce(reduce_point_force(model, vertex, force, duration), checks.count_steps(duration, dt, minimum=1))
        )

    @synchronized
    def set_sustained_force(self, vertex: int | None, force: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Push `vertex` with force (3,) [N] from the next step on until told otherwise; None lets go.

        It acts beside the pushes of `push`, and changes with every call, as a hand does.
        """
        model = self._controller.model
        self._sustained_force = (
            None if vertex is None else reduce_point_force(model, vertex, force, self._controller.reference.dt)
        )

    @synchronized
    def set_disturbances(self, *disturbances: Disturbance) -> None:
        """Let winds (or other disturbances) act from now on; none ends them."""
        if not all(isinstance(wind, Disturbance) for wind in disturbances):
            raise InputError("set_disturbances takes Wind objects, or others with `compute_reduced_force`")
        for wind in disturbances:
            wind.compute_reduced_force(self._controller.model, self._controller.reference.dt, 1, 1)
        self._disturbances, self._disturbance_block = disturbances, self._disturbance_block[:0]

    @synchronized
    def step(self, count: int = 1) -> None:
        """Go on `count` steps, at most 1,000,000 a call.

        Raises NotConverged when the body is pushed beyond what its model can do; it then stands where it was before the
        step, and the pushes are over.
        """
        for _ in range(checks.repetitions(count, "count (of steps)")):
            self._apply_pending_retune()
            self._stepper.feedback_gains = self._controller.feedback_gains if self.controlled else None
            try:
                out = self._stepper.rollout(self._sum_external_forces())
            except NotConverged:
                self._clear_forces()
                raise
            self._feedback = out[0, 2]
            self._step_count += 1

    @synchronized
    def compute_positions(self, skin: Skin | None = None) -> Array:
        """Where the body's vertices are (n, 3), or those of a skin embedded in it."""
        model, z = self._controller.model, self._stepper.state[3]
        if skin is None:
            return model.body.vertices + model.lift(z)
        if self._skin_cache is None or self._skin_cache[0] is not skin:
            self._skin_cache = (skin, *build_skin_basis(model, skin))
        _, rest, columns = self._skin_cache
        return rest + (columns @ z.astype(columns.dtype)).reshape(-1, 3)

    @synchronized
    def seek(self, frame: int | None = None) -> int:
        """Follow the reference from `frame` on; from the one closest to the present state when None. Returns it.

        Closest in position and velocity, the latter in units of ω₁.
        """
        reference, walker = self._controller.reference, self._stepper
        if frame is None:
            off = reference.trajectory[1, :-1] - walker.state[3:]
            off[:, 1] /= self._controller.model.first_angular_frequency
            frame = int(np.argmin((off**2).sum(axis=(1, 2))))
        # never 0: a run that begins there is taken to have no past
        walker.step_index = reference.step_count + checks.require_integer(
            frame, "frame", minimum=0, maximum=reference.step_count - 1
        )
        self._seek_step = walker.step_index
        return frame

    @synchronized
    def restart(self) -> None:
        """Stand at the start of the reference again; pushes are over, time goes on."""
        self._stepper.reset()
        self._seek_step = 0
        self._clear_forces()

    @synchronized
    def copy(self, *, controlled: bool) -> RealtimeController:
        """Another live body where this one is now, under the same pushes and winds; each then goes its own way."""
        made = RealtimeController(self._controller, controlled=controlled)
        made._stepper.state[:], made._stepper.step_index = self._stepper.state, self._stepper.step_index
        made._stepper.is_disturbed = self._stepper.is_disturbed
        self._copy_forces_to(made)
        made._seek_step = self._seek_step
        return made

    def _describe_error(self) -> str:
        return f"off by {100 * self.error:.3g} % of the size"

    def _compute_disturbance_forces(self, steps: int) -> Array:
        model, dt = self._controller.model, self._controller.reference.dt
        return np.asarray(
            np.sum(
                [wind.compute_reduced_force(model, dt, self._step_count + 1, steps) for wind in self._disturbances],
                axis=0,
            )
        )


def build_skin_basis(model: ReducedModel, skin: Skin) -> tuple[Array, Array]:
    """The skin at rest (s, 3), and how it moves with the reduced coordinates (3s, r), in single precision."""
    return interpolate_basis(model.body.vertices + model.lift(np.zeros(model.size)), model.basis, skin)


def interpolate_basis(rest: Array, basis: Array, skin: Skin) -> tuple[Array, Array]:
    """`skin_basis` of a body at `rest` (n, 3) that moves in `basis` (3n, r)."""
    checks.require_instance(skin, Skin, "skin")
    columns = [skin.deform(column.reshape(-1, 3)).ravel() for column in basis.T]
    return skin.deform(rest).astype(np.float32), np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float32)
