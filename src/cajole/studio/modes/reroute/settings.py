"""Settings of Reroute, and the net of springs that it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import IndexArray
from cajole.body import BodySprings
from cajole.direct.editing.setup import find_static_vertices
from cajole.direct.rerouting import METHODS
from cajole.direct.rerouting.goals import DEFAULT_ALPHA
from cajole.studio.content import ProjectContent
from cajole.studio.modes.settings import setting

# Frames per second of a pilot that is simulated here.
PILOT_FPS = 60.0


@dataclass(frozen=True)
class RerouteModeSettings:
    """method, alpha [frames per size], reach [m], limit [N] and within [m] as `reroute` takes them.

    stiffness [N/m], mass [kg] of all vertices, damping [N s/m], frames and held vertices belong to a net made of a
    mesh, and to its pilot.
    """

    method: str = setting(choices=METHODS)
    alpha: float = setting(minimum=1.0, maximum=5000.0)
    reach: float = setting(minimum=0.0, maximum=10.0, unit="size")
    limit: float | None = setting(minimum=1e-9, maximum=1e9, optional=True)
    within: float = setting(minimum=1e-6, maximum=1.0, unit="size")
    stiffness: float = setting(100.0, 1e-3, 1e7)
    mass: float = setting(1.0, 1e-6, 1e6)
    damping: float = setting(0.05, 0.0, 1e4)
    frames: int = setting(120, 2, 2000)
    held: tuple[int, ...] = ()

    # the settings of the net
    net_fields = ("stiffness", "mass", "damping", "frames", "held")

    def get_net_settings(self) -> tuple[object, ...]:
        """All settings that the pilot depends on."""
        return tuple(getattr(self, name) for name in self.net_fields)


def build_initial_settings(content: ProjectContent) -> RerouteModeSettings:
    """Settings of the scene, else defaults; reach is 0 where the scene does not set it."""
    plan = content.reroute_setup
    options = {} if plan is None else plan.reroute_options
    return RerouteModeSettings(
        METHODS[0],
        DEFAULT_ALPHA,
        float(options.get("reach", 0.0)),
        options.get("limit"),
        # without a scene, a hundredth of the body's size
        float(options.get("within", 0.01 * (float(content.mesh.size) if plan is None else 1.0))),
        frames=RerouteModeSettings.frames if plan is None else plan.frames,
        held=tuple(int(node) for node in find_fixed_vertices(content)),
    )


def find_fixed_vertices(content: ProjectContent) -> IndexArray:
    """Vertices fixed by the scene or the body, or static in the motion."""
    if content.reroute_setup is not None:
        return content.reroute_setup.net.fixed
    if content.animation is not None:
        static = find_static_vertices(content.animation)
        return np.empty(0, dtype=np.int64) if static is None else static
    return np.asarray(getattr(content.body, "fixed", np.empty(0)), dtype=np.int64)


def build_net(content: ProjectContent, settings: RerouteModeSettings) -> BodySprings:
    """The scene's net, or springs on every edge. Raises InputError for a mesh with vertices without edges."""
    if content.reroute_setup is not None:
        return content.reroute_setup.net
    return BodySprings.from_mesh(
        content.mesh,
        stiffness=settings.stiffness,
        mass=settings.mass / len(content.mesh.vertices),
        damping=settings.damping,
        clamp=0.02,
        fixed=np.array(settings.held, dtype=np.int64),
    )
