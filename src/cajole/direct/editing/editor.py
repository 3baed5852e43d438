"""`edit`: drag any vertex of any frame of a finished animation; the whole motion follows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.body import Body, BodySolid
from cajole.direct.editing.aim import aim
from cajole.direct.editing.constraints import Rows
from cajole.direct.editing.spacetime import Settings, Spacetime
from cajole.direct.editing.warp import WARPS, Frame, Warp
from cajole.dynamics import modes as modes_of
from cajole.errors import InputError
from cajole.linalg.threads import blas_threads
from cajole.progress import Progress, report

Array = NDArray[np.float64]
Place = tuple[int, int]

# A dragged vertex has landed when it is this close, as a share of how far the edit takes it.
LANDED = 1e-4
# Step of the differences that start the Jacobian of a target, in body sizes.
NUDGE = 1e-5
# Input frames of which rotations and stretches are kept.
KEPT_FRAMES = 16


@dataclass(frozen=True)
class EditReport:
    """missed: how far each (vertex, frame) is from where it was put, in body sizes; moved: the largest change asked.

    passes: how often the last drag looked where its vertex is.
    """

    missed: dict[Place, float]
    moved: float
    modes: int
    passes: int

    def __str__(self) -> str:
        rows = [f"edit: {len(self.missed)} constraints, {self.modes} modes, largest change {100 * self.moved:.3g} %"]
        for (vertex, frame), off in self.missed.items():
            rows.append(f"  vertex {vertex} at frame {frame}: off by {100 * off:.2g} % of the size")
        return "\n".join(rows)


@dataclass(frozen=True, eq=False)
class _State:
    """Everything that undo brings back: where vertices were put, and the linear targets that bring them there."""

    targets: dict[Place, Array]
    linear: dict[Place, Array]


class Editor:
    """A finished animation under edit; see `edit`."""

    def __init__(self, animation: Animation, body: BodySolid, shapes: Array, spacetime: Spacetime, warp: Warp):
        self._input, self.body, self._warp = animation, body, warp
        self._shapes = np.ascontiguousarray(shapes)
        self._rows = Rows(spacetime)
        self._order: list[Place] = []
        self._now, self._past, self._future = _State({}, {}), list[_State](), list[_State]()
        self._frames: dict[int, Frame] = {}
        self._responses: dict[int, Array] = {}
        self._probes: dict[int, Array] = {}
        self._passes = 0

    @property
    def constraints(self) -> dict[Place, Array]:
        """(vertex, frame) -> position (3,), in the order they were added."""
        return {place: target.copy() for place, target in self._now.targets.items()}

    def drag(self, vertex: int, frame: int, position: ArrayLike) -> None:
        """Put `vertex` at `position` (3,) [m] in `frame`; again to move it. All frames follow.

        Raises InputError for what cannot be moved: a held vertex, a frame that stays, indices out of range.
        """
        place = self._checked(vertex, frame)
        target = checks.real_array(position, "position (m)", (3,))
        targets = {**self._now.targets, place: target}
        self._change(_State(targets, {**self._now.linear, place: self._now.linear.get(place, np.zeros(3))}), place)

    def release(self, vertex: int, frame: int) -> None:
        """Let go of a vertex that was dragged. Raises InputError when it was not."""
        place = (int(vertex), int(frame))
        if place not in self._now.targets:
            raise InputError(f"vertex {vertex} at frame {frame} was not dragged, so it cannot be released")
        targets = {key: value for key, value in self._now.targets.items() if key != place}
        linear = {key: value for key, value in self._now.linear.items() if key != place}
        self._change(_State(targets, linear), None)

    def undo(self) -> bool:
        """Take back the last change; False when there is none."""
        return self._travel(self._past, self._future)

    def redo(self) -> bool:
        """Do again what was undone last; False when there is none."""
        return self._travel(self._future, self._past)

    def tune(self, **settings: Any) -> None:
        """Change h, damping, ends, energy or smoothness, as `edit` takes them; dragged vertices stay in place.

        Raises InputError for settings that are none, and for ends that would hold a frame with a dragged vertex.
        """
        for name in settings:
            checks.one_of(name, "a setting", tuple(field.name for field in fields(Settings)))
        old = self._rows.spacetime
        new = Spacetime(old.eigenvalues, old.frames, replace(old.settings, **settings))
        late = [place for place in self._order if place[1] > new.last]
        if late:
            raise InputError(
                f"vertex {late[0][0]} was dragged at frame {late[0][1]}, which these ends hold; release it"
            )
        self._rows.rebuild(new)
        self._responses.clear()
        self._settle(None)

    def baked(self, *, progress: Progress | None = None) -> Editor:
        """An editor of the edited motion: what was dragged is input now, and rotations start from it."""
        made = self.animation(progress=progress)
        return Editor(made, self.body, self._shapes, self._rows.spacetime, self._warp)

    def positions(self, frame: int) -> Array:
        """Where all vertices are in `frame` (n, 3) [m]; of a frame that does not change, the input bit for bit."""
        frame = checks.count(frame, "frame", least=0, most=len(self._input.positions) - 1)
        given = np.asarray(self._input.positions[frame], dtype=np.float64)
        change = self._linear_change(frame)
        return given if change is None else given + self._warp.apply(self._frame(frame), change)

    def animation(self, *, progress: Progress | None = None) -> Animation:
        """The edited motion."""
        frames = len(self._input.positions)
        out = np.array(self._input.positions, dtype=np.float64)
        if self._order:
            z = self._rows.changes(self._multipliers())
            spacetime = self._rows.spacetime
            for frame in range(spacetime.first, spacetime.last + 1):
                change = (self._shapes @ z[frame]).reshape(-1, 3)
                out[frame] += self._warp.apply(self._warp.frame(out[frame]), change)
                report(progress, (frame + 1) / frames, f"frame {frame} of {frames - 1}")
        return Animation(self._input.mesh, out, fps=self._input.fps)

    @property
    def report(self) -> EditReport:
        miss = self._miss(self._order)
        off = np.linalg.norm(miss.reshape(-1, 3), axis=1) / self.body.size
        moved = max((np.linalg.norm(self._asked(place)) for place in self._order), default=0.0)
        size = self._rows.spacetime.size
        return EditReport(dict(zip(self._order, off.tolist())), float(moved / self.body.size), size, self._passes)

    def _checked(self, vertex: int, frame: int) -> Place:
        vertex = int(checks.index_array([vertex], "vertex", (1,), self.body.count)[0])
        frame = checks.count(frame, "frame", least=0, most=len(self._input.positions) - 1)
        spacetime = self._rows.spacetime
        if vertex in self.body.fixed:
            raise InputError(f"vertex {vertex} is held by the body and cannot be dragged; drag another, or free it")
        if not spacetime.first <= frame <= spacetime.last:
            raise InputError(
                f"frame {frame} stays as it is; frames {spacetime.first}..{spacetime.last} can be edited"
                + ("" if spacetime.settings.ends == "free" else " (more with ends='free')")
            )
        return vertex, frame

    def _change(self, state: _State, dragged: Place | None) -> None:
        before = self._now
        try:
            self._now = state
            self._align()
            self._settle(dragged)
        except Exception:
            self._now = before
            self._align()
            raise
        self._past.append(before)
        self._future.clear()

    def _settle(self, dragged: Place | None) -> None:
        """Bring the dragged vertex where it was put, and then all of them, where that moved others."""
        with blas_threads():
            if dragged is not None:
                self._meet([dragged])
            if len(self._order) > (dragged is not None) and not self._landed():
                self._meet(self._order)

    def _travel(self, back: list[_State], forth: list[_State]) -> bool:
        if not back:
            return False
        forth.append(self._now)
        self._now = back.pop()
        self._align()
        return True

    def _align(self) -> None:
        """Have the rows of exactly the present constraints."""
        wanted = list(self._now.targets)
        keep = np.array([place in self._now.targets for place in self._order], dtype=bool)
        if not keep.all():
            self._rows.remove(np.repeat(keep, 3))
            self._order = [place for place in self._order if place in self._now.targets]
        for place in wanted:
            if place not in self._order:
                vertex, frame = place
                self._rows.add(frame, self._shapes[3 * vertex : 3 * vertex + 3], np.zeros(3))
                self._order.append(place)
        live = {frame for _, frame in self._order}
        self._responses = {frame: g for frame, g in self._responses.items() if frame in live}

    def _multipliers(self, linear: dict[Place, Array] | None = None) -> Array:
        known = self._now.linear if linear is None else linear
        return self._rows.multipliers(np.concatenate([known[place] for place in self._order]))

    def _linear_change(self, frame: int) -> Array | None:
        """p = U z (n, 3) of a frame, None where nothing changes."""
        spacetime = self._rows.spacetime
        if not self._order or not spacetime.first <= frame <= spacetime.last:
            return None
        return self._field(frame, self._multipliers())

    def _field(self, frame: int, multipliers: Array) -> Array:
        g = self._responses.get(frame)
        if g is None:
            g = self._responses[frame] = self._rows.spacetime.response(frame)
        return (self._shapes @ self._rows.change(g, multipliers)).reshape(-1, 3)

    def _frame(self, frame: int) -> Frame:
        if frame not in self._frames:
            if len(self._frames) >= KEPT_FRAMES:
                self._frames.pop(next(iter(self._frames)))
            self._frames[frame] = self._warp.frame(np.asarray(self._input.positions[frame], dtype=np.float64))
        return self._frames[frame]

    def _asked(self, place: Place) -> Array:
        vertex, frame = place
        return self._now.targets[place] - np.asarray(self._input.positions[frame][vertex], dtype=np.float64)

    def _landed(self) -> bool:
        miss = np.abs(self._miss(self._order)).reshape(-1, 3).max(axis=1)
        return all(off <= self._tolerance([place]) for off, place in zip(miss, self._order))

    def _tolerance(self, places: list[Place]) -> float:
        asked = max(float(np.linalg.norm(self._asked(place))) for place in places)
        return LANDED * max(asked, NUDGE * self.body.size)

    def _miss(self, places: list[Place], linear: dict[Place, Array] | None = None) -> Array:
        """(3k,) how far the warped vertices are from where they were put."""
        out = np.empty((len(places), 3))
        multipliers = self._multipliers(linear) if places else np.empty(0)
        for frame in {frame for _, frame in places}:
            rows = [k for k, place in enumerate(places) if place[1] == frame]
            vertices = [places[k][0] for k in rows]
            weights = np.stack([self._probe(vertex) for vertex in vertices])
            moved = self._warp.at(self._frame(frame), self._field(frame, multipliers), weights)
            out[rows] = moved - np.stack([self._asked(places[k]) for k in rows])
        return out.ravel()

    def _probe(self, vertex: int) -> Array:
        if vertex not in self._probes:
            self._probes[vertex] = self._warp.probe(np.array([vertex]))[0]
        return self._probes[vertex]

    def _meet(self, places: list[Place]) -> None:
        """Find the linear targets of `places` that bring their warped vertices where they were put."""

        def with_linear(x: Array) -> dict[Place, Array]:
            return {**self._now.linear, **{place: x[3 * k : 3 * k + 3] for k, place in enumerate(places)}}

        def miss(x: Array) -> Array:
            return self._miss(places, with_linear(x))

        x = np.concatenate([self._now.linear[place] for place in places])
        base, nudge = miss(x), NUDGE * self.body.size
        J = np.zeros((len(x), len(x)))
        for k in range(len(x)):
            ahead = x.copy()
            ahead[k] += nudge
            J[:, k] = (miss(ahead) - base) / nudge
        found = aim(miss, x, J, self._tolerance(places))
        self._passes = found.passes
        self._now = _State(self._now.targets, with_linear(found.x))


def edit(
    animation: Animation,
    body: Body,
    modes: int = 500,
    *,
    ends: str = "fixed",
    h: float | None = None,
    damping: tuple[float, float] | None = None,
    energy: str = "forces",
    smoothness: float = 1.0,
    warp: str = "composition",
    progress: Progress | None = None,
) -> Editor:
    """An editor of a finished animation: its changes are the least forces over space and time, eq. (2).

    animation: on the body's mesh, at least 5 frames; from any source. body: its rest shape, material and held vertices.
    modes: how many vibrations a change is made of. ends: "fixed" keeps the last two frames, "free" lets them go along.
    h [s]: timestep of the energy, the animation's own when None; damping (α [1/s], β [s]) of the change, the body's
    when None; energy: "forces", or "smooth" eq. (10) with smoothness μ in units of 1/λ₁.
    warp: "composition", or "additive", the paper's own form.
    Raises InputError for an animation of another mesh, too few frames, or more modes than the body has.
    """
    checks.require_instance(animation, Animation, "animation")
    if not isinstance(body, BodySolid):
        raise InputError(f"body must be a BodySolid, not {type(body).__name__}")
    checks.one_of(warp, "warp", WARPS)
    if animation.positions.shape[1] != body.count:
        raise InputError(f"the animation has {animation.positions.shape[1]} vertices, but the body has {body.count}")
    settings = Settings(
        1.0 / animation.fps if h is None else h, (body.alpha, body.beta) if damping is None else damping, ends, energy,
        smoothness,
    )  # fmt: skip
    found = modes_of(body, modes, progress=progress)
    spacetime = Spacetime(found.eigenvalues, len(animation.positions), settings)
    return Editor(animation, body, found.shapes, spacetime, Warp(body.mesh, body.fixed, form=warp))
