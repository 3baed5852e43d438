"""`simulate`: a body moves under forces; implicit steps, each solved to convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body, EmbeddedMesh
from cajole.dynamics.implicit_stepper import ImplicitStepper as ImplicitStepper
from cajole.dynamics.implicit_stepper import InitialState as InitialState
from cajole.dynamics.integrators import INTEGRATORS
from cajole.dynamics.obstacle_contact import collect_contacts
from cajole.dynamics.obstacles import Obstacle
from cajole.errors import SolveError
from cajole.memory import require_memory
from cajole.mesh import MeshTri
from cajole.progress import ProgressCallback, report_progress

ForceInput = Callable[[float], ArrayLike] | ArrayLike | None


def simulate(
    body: Body | EmbeddedMesh,
    frames: int = 240,
    dt: float = 1 / 60,
    *,
    force: ForceInput = None,
    gravity: ArrayLike | None = None,
    start: InitialState | ArrayLike | None = None,
    obstacles: Obstacle | Sequence[Obstacle] | None = None,
    surface: MeshTri | None = None,
    integrator: str = "newmark",
    substeps: int = 1,
    progress: ProgressCallback | None = None,
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
    if isinstance(body, EmbeddedMesh):
        skin, body = body.skin, body.body
    else:
        checks.require_instance(body, Body, "body")
        skin = None
    checks.require_choice(integrator, "integrator", INTEGRATORS)
    frames, substeps = checks.require_integer(frames, "frames"), checks.repetitions(substeps, "substeps")
    dt = checks.require_positive(dt, "dt (s)")
    h = checks.require_safe_magnitude(dt / substeps, "dt / substeps (s)")
    require_memory(
        48 * frames * body.vertex_count, f"a motion of {frames} frames", "use fewer frames, or fewer elements"
    )
    mesh = body.get_display_mesh()
    load = _build_load(body, force, gravity, frames, dt)
    stepper = ImplicitStepper(body, h, integrator, obstacles=obstacles, surface=surface)
    past = stepper.start(_parse_start(start), load(0.0, 0))
    positions, velocities = np.empty((2, frames, body.vertex_count, 3))
    positions[0], velocities[0] = body.vertices + past.displacement, past.velocity
    touched = [stepper.find_contacts(past)]
    for frame in range(1, frames):
        stepper.on_progress = _build_step_progress(progress, frame, frames)
        for sub in range(1, substeps + 1):
            time = ((frame - 1) * substeps + sub) * h
            try:
                past = stepper.step(past, load(time, frame))
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {time:.4g} s): {reason}{body.unit_hint}") from None
        positions[frame], velocities[frame] = body.vertices + past.displacement, past.velocity
        touched.append(stepper.find_contacts(past))
        report_progress(progress, frame / (frames - 1), f"frame {frame} of {frames - 1}")
    own = stepper.contacts and surface is None
    contacts = collect_contacts(touched, stepper.contacts[0].points) if own else None
    notes = _describe_inversions(body, positions)
    return Animation(
        mesh, positions, fps=1.0 / dt, velocities=velocities, contacts=contacts, skin=skin, notes=notes
    )  # fmt: skip


def _build_step_progress(progress: ProgressCallback | None, frame: int, frames: int) -> Callable[[str], None]:
    """What a step calls while it works on the way into `frame`."""
    return lambda text: report_progress(progress, (frame - 1) / (frames - 1), f"frame {frame}: {text}")


def _describe_inversions(body: Body, positions: Array) -> tuple[str, ...]:
    """What to say of tets that are inside out in `positions` (frames, n, 3): how many, from which frame, what helps."""
    counts = [len(body.inverted(frame - body.vertices)) for frame in positions]
    if not any(counts):
        return ()
    first, most = int(np.flatnonzero(counts)[0]), max(counts)
    return (f"{most} tets are inside out from frame {first}: use a stiffer material, a finer mesh or smaller forces",)


def has_three_axes(value: ArrayLike | None) -> bool:
    """Whether `value` is an array of three axes; ragged lists are not, and fail their check later."""
    try:
        return np.ndim(value) == 3  # type: ignore[arg-type]
    except ValueError:
        return False


def _parse_start(start: InitialState | ArrayLike | None) -> InitialState:
    if start is None:
        return InitialState()
    return start if isinstance(start, InitialState) else InitialState(displacement=start)


def _build_load(
    body: Body, force: ForceInput, gravity: ArrayLike | None, frames: int, dt: float
) -> Callable[[float, int], Array]:
    """External force (n, 3) at (time, frame), checked as it is used."""
    weight = np.zeros((body.vertex_count, 3)) if gravity is None else body.gravity(gravity)
    if force is None:
        return lambda time, frame: weight
    if callable(force):
        return lambda time, frame: weight + body.check_vertex_vectors(force(time), f"force({time:.6g})")
    if has_three_axes(force):
        rows = checks.require_real_array(force, "force", (frames, body.vertex_count, 3))
        return lambda time, frame: weight + rows[frame]
    constant = weight + body.check_vertex_vectors(force, "force")
    return lambda time, frame: constant
