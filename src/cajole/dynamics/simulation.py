"""`simulate`: a body moves under forces; implicit steps, each solved to convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body, BodyAround
from cajole.dynamics.integrators import INTEGRATORS
from cajole.dynamics.obstacles import Obstacle
from cajole.dynamics.pushing import contacts_of
from cajole.dynamics.stepping import State as State
from cajole.dynamics.stepping import Stepper as Stepper
from cajole.errors import SolveError
from cajole.memory import require_memory
from cajole.mesh import MeshTri
from cajole.progress import Progress, report

Force = Callable[[float], ArrayLike] | ArrayLike | None


def simulate(
    body: Body | BodyAround,
    frames: int = 240,
    dt: float = 1 / 60,
    *,
    force: Force = None,
    gravity: ArrayLike | None = None,
    start: State | ArrayLike | None = None,
    obstacles: Obstacle | Sequence[Obstacle] | None = None,
    surface: MeshTri | None = None,
    integrator: str = "newmark",
    substeps: int = 1,
    progress: Progress | None = None,
) -> Animation:
    """Integrate M ü + d(u, u̇) + f(u) = f_ext; frame 0 is the start.

    body: of what `body_around` gives the cells move, all values are theirs, and the triangles ride on them as the skin
        of the animation (`animation.skinned()`).
    frames: how many, the start included; dt [s] between frames, divided into `substeps` (at most 1,000,000).
    force: f(t [s]) -> (n, 3) [N], or (n, 3) constant, or (frames, n, 3), where row k acts on the way into frame k.
    gravity: acceleration (3,) [m/s²], e.g. (0, 0, -9.81), or a number, 9.81, which is down (-z).
    start: a State, or the displacement (n, 3); at rest when None.
    obstacles: `Ground` or `ObstacleMesh`, one or several, that push the body's surface back; the animation gets the
        contacts with them.
    surface: a finer surface, carried by a body of tets, that touches them instead of the body's own; then the contacts
        are left to `find_contacts`.
    integrator: "newmark" (average acceleration) and "euler" are solved to convergence; "bdf2" is linearly implicit,
        one solve a step, eq. (3)-(5) of Jeon and Choi 2007, except with obstacles, where it is solved like the others.
    progress: called with the fraction done; returning False raises Cancelled.
    Raises NotConverged, naming the frame, when a step cannot be solved; with obstacles it is first tried as smaller
    steps of implicit Euler. Tets that end up inside out are told in the animation's `notes`.
    """
    if isinstance(body, BodyAround):
        skin, body = body.skin, body.body
    else:
        checks.require_instance(body, Body, "body")
        skin = None
    checks.one_of(integrator, "integrator", INTEGRATORS)
    frames, substeps = checks.count(frames, "frames"), checks.repetitions(substeps, "substeps")
    dt = checks.positive(dt, "dt (s)")
    h = checks.moderate(dt / substeps, "dt / substeps (s)")
    require_memory(48 * frames * body.count, f"a motion of {frames} frames", "use fewer frames, or fewer elements")
    mesh = body.drawn_mesh()
    load = _load(body, force, gravity, frames, dt)
    stepper = Stepper(body, h, integrator, obstacles=obstacles, surface=surface)
    past = stepper.start(_state(start), load(0.0, 0))
    positions, velocities = np.empty((2, frames, body.count, 3))
    positions[0], velocities[0] = body.vertices + past.u, past.v
    touched = [stepper.touched(past)]
    for frame in range(1, frames):
        stepper.told = _telling(progress, frame, frames)
        for sub in range(1, substeps + 1):
            time = ((frame - 1) * substeps + sub) * h
            try:
                past = stepper.step(past, load(time, frame))
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {time:.4g} s): {reason}{body.size_hint}") from None
        positions[frame], velocities[frame] = body.vertices + past.u, past.v
        touched.append(stepper.touched(past))
        report(progress, frame / (frames - 1), f"frame {frame} of {frames - 1}")
    own = stepper.touches and surface is None
    contacts = contacts_of(touched, stepper.touches[0].points) if own else None
    notes = _inversion_notes(body, positions)
    return Animation(
        mesh, positions, fps=1.0 / dt, velocities=velocities, contacts=contacts, skin=skin, notes=notes
    )  # fmt: skip


def _telling(progress: Progress | None, frame: int, frames: int) -> Callable[[str], None]:
    """What a step calls while it works on the way into `frame`."""
    return lambda text: report(progress, (frame - 1) / (frames - 1), f"frame {frame}: {text}")


def _inversion_notes(body: Body, positions: Array) -> tuple[str, ...]:
    """What to say of tets that are inside out in `positions` (frames, n, 3): how many, from which frame, what helps."""
    counts = [len(body.inverted(frame - body.vertices)) for frame in positions]
    if not any(counts):
        return ()
    first, most = int(np.flatnonzero(counts)[0]), max(counts)
    return (f"{most} tets are inside out from frame {first}: use a stiffer material, a finer mesh or smaller forces",)


def is_stack(value: ArrayLike | None) -> bool:
    """Whether `value` is an array of three axes; ragged lists are not, and fail their check later."""
    try:
        return np.ndim(value) == 3  # type: ignore[arg-type]
    except ValueError:
        return False


def _state(start: State | ArrayLike | None) -> State:
    if start is None:
        return State()
    return start if isinstance(start, State) else State(displacement=start)


def _load(body: Body, force: Force, gravity: ArrayLike | None, frames: int, dt: float) -> Callable[[float, int], Array]:
    """External force (n, 3) at (time, frame), checked as it is used."""
    weight = np.zeros((body.count, 3)) if gravity is None else body.gravity(gravity)
    if force is None:
        return lambda time, frame: weight
    if callable(force):
        return lambda time, frame: weight + body.checked(force(time), f"force({time:.6g})")
    if is_stack(force):
        rows = checks.real_array(force, "force", (frames, body.count, 3))
        return lambda time, frame: weight + rows[frame]
    constant = weight + body.checked(force, "force")
    return lambda time, frame: constant
