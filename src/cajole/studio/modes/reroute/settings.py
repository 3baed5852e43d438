"""Settings of Reroute, and the net of springs that it moves."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from cajole.arrays import IndexArray
from cajole.body import BodySprings
from cajole.direct.editing.setup import find_static_vertices
from cajole.direct.rerouting.goals import DEFAULT_ALPHA
from cajole.studio.content import ProjectContent
from cajole.studio.modes.reroute.messages import RerouteDials

# Frames per second of a pilot that is simulated here.
PILOT_FPS = 60.0
# Settings of a net that is made of a mesh, and of its pilot.
NET_FIELDS = ("stiffness", "mass", "damping", "frames")


def build_initial_dials(content: ProjectContent) -> RerouteDials:
    """Settings of the scene, else defaults; reach is 0 where the scene does not set it."""
    plan = content.reroute_setup
    options = {} if plan is None else plan.reroute_options
    dials = RerouteDials(
        method="pattern",
        alpha=DEFAULT_ALPHA,
        reach=float(options.get("reach", 0.0)),
        limit=options.get("limit"),
        # without a scene, a hundredth of the body's size
        within=float(options.get("within", 0.01 * (float(content.mesh.size) if plan is None else 1.0))),
    )
    return dials if plan is None else replace(dials, frames=plan.frames)


def build_pilot_key(dials: RerouteDials, held: tuple[int, ...]) -> tuple[object, ...]:
    """All settings that the pilot depends on; held: fixed vertices of the net."""
    return *(getattr(dials, name) for name in NET_FIELDS), held


def find_fixed_vertices(content: ProjectContent) -> IndexArray:
    """Vertices fixed by the scene or the body, or static in the motion."""
    if content.reroute_setup is not None:
        return content.reroute_setup.net.fixed
    if content.animation is not None:
        static = find_static_vertices(content.animation)
        return np.empty(0, dtype=np.int64) if static is None else static
    return np.asarray(getattr(content.body, "fixed", np.empty(0)), dtype=np.int64)


def build_net(content: ProjectContent, dials: RerouteDials, held: tuple[int, ...]) -> BodySprings:
    """The scene's net, or springs on every edge. Raises InputError for a mesh with vertices without edges."""
    if content.reroute_setup is not None:
        return content.reroute_setup.net
    return BodySprings.from_mesh(
        content.mesh,
        stiffness=dials.stiffness,
        mass=dials.mass / len(content.mesh.vertices),
        damping=dials.damping,
        clamp=0.02,
        fixed=np.array(held, dtype=np.int64),
    )
