"""A controller in live use: pushed, stepped and looked at, for as long as one likes."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.direct.steering.controller import Controller
from cajole.direct.steering.disturbances import Disturbance, push_force, steps_of
from cajole.direct.steering.runs import ASTRAY
from cajole.direct.steering.walker import Walker
from cajole.errors import InputError, NotConverged
from cajole.mesh import Skin
from cajole.reduction import ReducedModel

Array = NDArray[np.float64]

# Steps for which a wind is made ahead.
AHEAD = 64


@dataclass
class _Push:
    force: Array
    left: int


class Live:
    """A body under control in real time. `step` goes on one step; the reference is gone through again and again.

    controlled: whether feedback acts; it may be changed at any time. cuts: how many steps had to be cut into parts.
    """

    def __init__(self, controller: Controller, *, controlled: bool = True):
        self._controller = controller
        self._walker = Walker(controller.reference)
        self._pushes: list[_Push] = []
        self._held: Array | None = None
        self._winds: tuple[Disturbance, ...] = ()
        self._ahead, self._ahead_from = np.empty((0, controller.model.size)), 0
        self._external = np.zeros((1, controller.model.size))
        self._feedback = np.zeros(controller.model.size)
        self._pending: Future[Controller] | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._skin: tuple[Skin, Array, Array] | None = None
        self._asked: dict[str, object] = {}
        self._steps, self._landed, self.controlled = 0, 0, controlled

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return f"Live({how}, {self.time:.4g} s, off by {100 * self.error:.3g} % of the size)"

    @property
    def controller(self) -> Controller:
        """The one that steers now; `retune` replaces it."""
        return self._controller

    @property
    def time(self) -> float:
        """[s] since the start."""
        return self._steps * self._controller.reference.dt

    @property
    def frame(self) -> int:
        """The frame of the reference that is being followed, one to a step."""
        return self._walker.step % self._controller.reference.steps

    @property
    def cuts(self) -> int:
        """How often a step had to be cut into parts so far."""
        return self._walker.cuts

    @property
    def state(self) -> tuple[Array, Array]:
        """Position and velocity (r,) in reduced coordinates."""
        return self._walker.now[3].copy(), self._walker.now[4].copy()

    @property
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
    def feedback(self) -> Array:
        """The reduced force (r,) that the controller added in the last step."""
        return self._feedback.copy()

    @property
    def retuning(self) -> bool:
        """Whether gains for other dials are being made."""
        return self._pending is not None and not self._pending.done()

    @property
    def gentleness(self) -> float:
        """The feedback of the last step, in body weights."""
        return float(np.linalg.norm(self._feedback) / self._controller.model.unit_weight)

    def push(self, vertex: int, force: ArrayLike, duration: float = 0.1) -> None:
        """Push `vertex` with force (3,) [N] for `duration` [s] from the next step on. Pushes add up."""
        model, dt = self._controller.model, self._controller.reference.dt
        self._pushes.append(_Push(push_force(model, vertex, force, duration), steps_of(duration, dt)))

    def hold(self, vertex: int | None, force: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Push `vertex` with force (3,) [N] from the next step on until told otherwise; None lets go.

        It acts beside the pushes of `push`, and changes with every call, as a hand does.
        """
        model = self._controller.model
        self._held = None if vertex is None else push_force(model, vertex, force, self._controller.reference.dt)

    def blow(self, *winds: Disturbance) -> None:
        """Let winds (or other disturbances) act from now on; none ends them."""
        if not all(isinstance(wind, Disturbance) for wind in winds):
            raise InputError("blow takes Wind objects, or others that offer `reduced`")
        for wind in winds:
            wind.reduced(self._controller.model, self._controller.reference.dt, 1, 1)
        self._winds, self._ahead = winds, self._ahead[:0]

    def step(self, count: int = 1) -> None:
        """Go on `count` steps.

        Raises NotConverged when the body is pushed beyond what its model can do; it then stands where it was before the
        step, and the pushes are over.
        """
        for _ in range(checks.count(count, "count (of steps)")):
            self._take_over()
            self._walker.regulator = self._controller.regulator if self.controlled else None
            try:
                out = self._walker.walk(self._gathered())
            except NotConverged:
                self._end_pushes()
                raise
            self._feedback = out[0, 2]
            self._steps += 1

    def positions(self, skin: Skin | None = None) -> Array:
        """Where the body's vertices are (n, 3), or those of a skin embedded in it."""
        model, z = self._controller.model, self._walker.now[3]
        if skin is None:
            return model.body.vertices + model.lift(z)
        if self._skin is None or self._skin[0] is not skin:
            self._skin = (skin, *skin_basis(model, skin))
        _, rest, columns = self._skin
        return rest + (columns @ z.astype(columns.dtype)).reshape(-1, 3)

    def retune(self, **dials: Any) -> Future[Controller]:
        """Have gains for other dials (as `steer` takes them) made in the background; they act once they are ready.

        Dials that are still being worked on count as well.
        Raises InputError for dials that `steer` would refuse.
        """
        self._controller.refuse(dials)
        self._take_over()
        self._asked = dials if self._pending is None else self._asked | dials
        self._pool = self._pool or ThreadPoolExecutor(max_workers=1, thread_name_prefix="retune")
        self._pending = self._pool.submit(self._controller.retuned, **self._asked)
        return self._pending

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

    def restart(self) -> None:
        """Stand at the start of the reference again; pushes are over, time goes on."""
        self._walker.restart()
        self._landed = 0
        self._end_pushes()

    def twin(self, *, controlled: bool) -> Live:
        """Another live body where this one is now, under the same pushes and winds; each then goes its own way."""
        made = Live(self._controller, controlled=controlled)
        made._walker.now[:], made._walker.step = self._walker.now, self._walker.step
        made._walker.disturbed = self._walker.disturbed
        made._pushes = [_Push(push.force, push.left) for push in self._pushes]
        made._held, made._winds = self._held, self._winds
        made._steps, made._landed = self._steps, self._landed
        return made

    def close(self) -> None:
        """Stop the background work, if any."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end_pushes(self) -> None:
        self._pushes.clear()
        self._held = None

    def _take_over(self) -> None:
        if self._pending is not None and self._pending.done():
            done, self._pending = self._pending, None
            if done.exception() is None:
                self._controller = done.result()

    def _gathered(self) -> Array:
        """The external force (1, r) of the next step."""
        external = self._external
        external[0] = 0.0 if self._held is None else self._held
        for push in self._pushes:
            external[0] += push.force
            push.left -= 1
        if self._pushes:
            self._pushes = [push for push in self._pushes if push.left > 0]
        if self._winds:
            external[0] += self._blown()
        return external

    def _blown(self) -> Array:
        at = self._steps - self._ahead_from
        if at >= len(self._ahead):
            model, dt = self._controller.model, self._controller.reference.dt
            rows = [wind.reduced(model, dt, self._steps + 1, AHEAD) for wind in self._winds]
            self._ahead, self._ahead_from, at = np.sum(rows, axis=0), self._steps, 0
        return self._ahead[at]


def skin_basis(model: ReducedModel, skin: Skin) -> tuple[Array, Array]:
    """The skin at rest (s, 3), and how it moves with the reduced coordinates (3s, r), in single precision."""
    return carried_basis(model.body.vertices + model.lift(np.zeros(model.size)), model.basis, skin)


def carried_basis(rest: Array, basis: Array, skin: Skin) -> tuple[Array, Array]:
    """`skin_basis` of a body at `rest` (n, 3) that moves in `basis` (3n, r)."""
    checks.require_instance(skin, Skin, "skin")
    columns = [skin.follow(column.reshape(-1, 3)).ravel() for column in basis.T]
    return skin.follow(rest).astype(np.float32), np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float32)
