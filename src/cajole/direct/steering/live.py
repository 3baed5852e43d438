"""A controller in live use: pushed, stepped and looked at, for as long as one likes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering.controller import Controller
from cajole.direct.steering.disturbances import Disturbance, push_force
from cajole.direct.steering.living import Acting, Living
from cajole.direct.steering.runs import ASTRAY
from cajole.direct.steering.walker import Walker
from cajole.errors import InputError, NotConverged
from cajole.locking import synchronized
from cajole.mesh import Skin
from cajole.reduction import ReducedModel


class Live(Living[Controller]):
    """A body under control in real time. `step` goes on one step; the reference is gone through again and again.

    controlled: whether feedback acts; it may be changed at any time. cuts: how many steps had to be cut into parts.
    Several threads may use it: steps, pushes and looks take turns, and `step(count)` is one turn.
    """

    def __init__(self, controller: Controller, *, controlled: bool = True):
        super().__init__(controller, controlled)
        self._walker = Walker(controller.reference)
        self._skin: tuple[Skin, Array, Array] | None = None
        self._landed = 0

    @property
    @synchronized
    def frame(self) -> int:
        """The frame of the reference that is being followed, one to a step."""
        return self._walker.step % self._controller.reference.steps

    @property
    def cuts(self) -> int:
        """How often a step had to be cut into parts so far."""
        return self._walker.cuts

    @property
    @synchronized
    def state(self) -> tuple[Array, Array]:
        """Position and velocity (r,) in reduced coordinates."""
        return self._walker.now[3].copy(), self._walker.now[4].copy()

    @property
    @synchronized
    def error(self) -> float:
        """Distance to the frame being followed, in body sizes."""
        reference = self._controller.reference
        at = self._walker.step
        frame = at % reference.steps if at in (0, self._landed) else 1 + (at - 1) % reference.steps
        return float(np.linalg.norm(self._walker.now[3] - reference.states[frame])) / self._controller.model.unit_length

    @property
    def astray(self) -> bool:
        """Whether the body is farther off than the gains, made for small deviations, promise to bring back."""
        return self.error > ASTRAY

    @property
    def gentleness(self) -> float:
        """The feedback of the last step, in body weights."""
        return float(np.linalg.norm(self._feedback) / self._controller.model.unit_weight)

    @synchronized
    def push(self, vertex: int, force: ArrayLike, duration: float = 0.1) -> None:
        """Push `vertex` with force (3,) [N] for `duration` [s] from the next step on. Pushes add up."""
        model, dt = self._controller.model, self._controller.reference.dt
        self._acting.append(
            Acting(push_force(model, vertex, force, duration), checks.step_count(duration, dt, least=1))
        )

    @synchronized
    def hold(self, vertex: int | None, force: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Push `vertex` with force (3,) [N] from the next step on until told otherwise; None lets go.

        It acts beside the pushes of `push`, and changes with every call, as a hand does.
        """
        model = self._controller.model
        self._held = None if vertex is None else push_force(model, vertex, force, self._controller.reference.dt)

    @synchronized
    def blow(self, *winds: Disturbance) -> None:
        """Let winds (or other disturbances) act from now on; none ends them."""
        if not all(isinstance(wind, Disturbance) for wind in winds):
            raise InputError("blow takes Wind objects, or others that offer `reduced`")
        for wind in winds:
            wind.reduced(self._controller.model, self._controller.reference.dt, 1, 1)
        self._winds, self._ahead = winds, self._ahead[:0]

    @synchronized
    def step(self, count: int = 1) -> None:
        """Go on `count` steps, at most 1,000,000 a call.

        Raises NotConverged when the body is pushed beyond what its model can do; it then stands where it was before the
        step, and the pushes are over.
        """
        for _ in range(checks.repetitions(count, "count (of steps)")):
            self._take_over()
            self._walker.regulator = self._controller.regulator if self.controlled else None
            try:
                out = self._walker.walk(self._gathered())
            except NotConverged:
                self._end_forces()
                raise
            self._feedback = out[0, 2]
            self._steps += 1

    @synchronized
    def positions(self, skin: Skin | None = None) -> Array:
        """Where the body's vertices are (n, 3), or those of a skin embedded in it."""
        model, z = self._controller.model, self._walker.now[3]
        if skin is None:
            return model.body.vertices + model.lift(z)
        if self._skin is None or self._skin[0] is not skin:
            self._skin = (skin, *skin_basis(model, skin))
        _, rest, columns = self._skin
        return rest + (columns @ z.astype(columns.dtype)).reshape(-1, 3)

    @synchronized
    def jump(self, frame: int | None = None) -> int:
        """Follow the reference from `frame` on; from the one closest to the present state when None. Returns it.

        Closest in position and velocity, the latter in units of ω₁.
        """
        reference, walker = self._controller.reference, self._walker
        if frame is None:
            off = reference.course[1, :-1] - walker.now[3:]
            off[:, 1] /= self._controller.model.frequency
            frame = int(np.argmin((off**2).sum(axis=(1, 2))))
        # never 0: a run that begins there is taken to have no past
        walker.step = reference.steps + checks.count(frame, "frame", least=0, most=reference.steps - 1)
        self._landed = walker.step
        return frame

    @synchronized
    def restart(self) -> None:
        """Stand at the start of the reference again; pushes are over, time goes on."""
        self._walker.restart()
        self._landed = 0
        self._end_forces()

    @synchronized
    def twin(self, *, controlled: bool) -> Live:
        """Another live body where this one is now, under the same pushes and winds; each then goes its own way."""
        made = Live(self._controller, controlled=controlled)
        made._walker.now[:], made._walker.step = self._walker.now, self._walker.step
        made._walker.disturbed = self._walker.disturbed
        self._share(made)
        made._landed = self._landed
        return made

    def _off(self) -> str:
        return f"off by {100 * self.error:.3g} % of the size"

    def _blowing(self, steps: int) -> Array:
        model, dt = self._controller.model, self._controller.reference.dt
        return np.asarray(np.sum([wind.reduced(model, dt, self._steps + 1, steps) for wind in self._winds], axis=0))


def skin_basis(model: ReducedModel, skin: Skin) -> tuple[Array, Array]:
    """The skin at rest (s, 3), and how it moves with the reduced coordinates (3s, r), in single precision."""
    return carried_basis(model.body.vertices + model.lift(np.zeros(model.size)), model.basis, skin)


def carried_basis(rest: Array, basis: Array, skin: Skin) -> tuple[Array, Array]:
    """`skin_basis` of a body at `rest` (n, 3) that moves in `basis` (3n, r)."""
    checks.require_instance(skin, Skin, "skin")
    columns = [skin.follow(column.reshape(-1, 3)).ravel() for column in basis.T]
    return skin.follow(rest).astype(np.float32), np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float32)
