"""`simulate`: motion of a body under forces by implicit steps."""

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
from cajole.dynamics.obstacles import Obstacle, collect_contacts
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

    body: for the result of `embed_in_solid`, all values refer to the cells, and the triangles become the skin of the
        animation (`animation.skinned()`).
    frames: number of frames, including the start; dt [s] between frames, divided into `substeps` (at most 1,000,000).
    force: f(t [s]) -> (n, 3) [N], or (n, 3) constant, or (frames, n, 3), where row k acts on the way into frame k.
    gravity: acceleration (3,) [m/s²], e.g. (0, 0, -9.81), or a number, 9.81, which acts down (-z).
    start: an InitialState, or the displacement (n, 3); at rest when None.
    obstacles: `Ground` or `ObstacleMesh`, one or several, in contact with the surface of the body; the animation stores
        the contacts.
    surface: a finer surface, carried by a body of tets, that is in contact instead of the body's own; then contacts are
        not stored; use `find_contacts`.
    integrator: "newmark" (average acceleration) and "euler" are solved to convergence; "bdf2" is linearly implicit,
        one solve a step, eq. (3)-(5) of Jeon and Choi 2007, except with obstacles, where it is solved like the others.
    progress: called with the completed share; if it returns False, Cancelled is raised.
    Raises NotConverged, naming the frame, if a step cannot be solved; with obstacles it is first tried as smaller steps
    of implicit Euler. The `notes` of the animation report inverted tets.
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
    load = _build_load(body, force, gravity, frames, dt)
    if not isinstance(start, InitialState):
        start = InitialState(displacement=start)
    stepper = ImplicitStepper(body, h, integrator, obstacles=obstacles, surface=surface)
    past = stepper.start(start, load(0.0, 0))
    positions, velocities = np.empty((2, frames, body.vertex_count, 3))
    positions[0], velocities[0] = body.vertices + past.displacement, past.velocity
    found = [stepper.find_contacts(past)]
    for frame in range(1, frames):
        share = (frame - 1) / (frames - 1)
        stepper.on_progress = lambda text, share=share, frame=frame: report_progress(  # type: ignore[misc]
            progress, share, f"frame {frame}: {text}"
        )
        for sub in range(1, substeps + 1):
            time = ((frame - 1) * substeps + sub) * h
            try:
                past = stepper.step(past, load(time, frame))
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {time:.4g} s): {reason}{body.unit_hint}") from None
        positions[frame], velocities[frame] = body.vertices + past.displacement, past.velocity
        found.append(stepper.find_contacts(past))
        report_progress(progress, frame / (frames - 1), f"frame {frame} of {frames - 1}")
    own = stepper.contacts and surface is None
    contacts = collect_contacts(found, stepper.contacts[0].points) if own else None
    notes: tuple[str, ...] = ()
    inverted = [len(body.inverted(frame - body.vertices)) for frame in positions]
    if any(inverted):
        first, most = int(np.flatnonzero(inverted)[0]), max(inverted)
        remedy = "use a stiffer material, a finer mesh or smaller forces"
        notes = (f"{most} tets are inside out from frame {first}: {remedy}",)
    return Animation(
        body.get_display_mesh(), positions, 1.0 / dt, velocities=velocities, contacts=contacts, skin=skin, notes=notes
    )


def has_three_axes(value: ArrayLike | None) -> bool:
    """True if `value` is an array with three axes; False for ragged lists, which fail a later check."""
    try:
        return np.ndim(value) == 3  # type: ignore[arg-type]
    except ValueError:
        return False


def _build_load(
    body: Body, force: ForceInput, gravity: ArrayLike | None, frames: int, dt: float
) -> Callable[[float, int], Array]:
    """Build the function of the external force (n, 3) [N] at (time, frame); it checks forces when they are used."""
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
