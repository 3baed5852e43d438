"""What is asked of a second run beside its goals, and the springs that it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.arrays import IndexArray
from cajole.body import BodySprings
from cajole.direct.editing.setup import find_static_vertices
from cajole.direct.rerouting import METHODS
from cajole.direct.rerouting.goals import DEFAULT_ALPHA
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Message

# of springs made from a mesh, where nothing else is said: N/m, kg of all, N s/m; and the clamp of folds
DEFAULT_STIFFNESS, DEFAULT_MASS, DEFAULT_DAMPING, DEFAULT_CLAMP = 100.0, 1.0, 0.05, 0.02
# frames of a mesh that falls, and how many of them there are a second
DEFAULT_FRAMES, PILOT_FPS = 120, 60.0
# how near is near enough, in sizes of the net, where no scene says it
DEFAULT_TOLERANCE = 0.01
# what numbers may be: frames a size; sizes; N; sizes; N/m; kg; N s/m; frames
ALPHA_RANGE, REACH_RANGE, FORCE_LIMIT_RANGE, TOLERANCE_RANGE = (1.0, 5000.0), (0.0, 10.0), (1e-9, 1e9), (1e-6, 1.0)
STIFFNESS_RANGE, MASS_RANGE, DAMPING_RANGE, MAX_FRAMES = (1e-3, 1e7), (1e-6, 1e6), (0.0, 1e4), 2000
# those that make another net, and so another pilot
NET_FIELDS = ("stiffness", "mass", "damping", "frames", "held")


@dataclass(frozen=True)
class RerouteModeSettings:
    """method, alpha and the rest as `reroute` takes them: within, reach [m], limit [N] or None.

    stiffness [N/m], mass [kg] of all, damping [N s/m], held and frames: of a net that is made of a mesh, and its pilot.
    """

    method: str
    alpha: float
    reach: float
    limit: float | None
    within: float
    stiffness: float = DEFAULT_STIFFNESS
    mass: float = DEFAULT_MASS
    damping: float = DEFAULT_DAMPING
    frames: int = DEFAULT_FRAMES
    held: tuple[int, ...] = ()

    def get_net_settings(self) -> tuple[object, ...]:
        """All that the pilot depends on."""
        return tuple(getattr(self, name) for name in NET_FIELDS)


def build_initial_settings(content: ProjectContent, default_reach: float) -> RerouteModeSettings:
    """What a scene asks for, or what suits what is open."""
    plan, size = content.reroute_setup, float(content.mesh.size)
    settings = {} if plan is None else plan.reroute_options
    return RerouteModeSettings(
        METHODS[0],
        DEFAULT_ALPHA,
        float(settings.get("reach", default_reach)),
        settings.get("limit"),
        float(settings.get("within", DEFAULT_TOLERANCE * (size if plan is None else 1.0))),
        frames=DEFAULT_FRAMES if plan is None else plan.frames,
        held=tuple(int(node) for node in find_fixed_vertices(content)),
    )


def find_fixed_vertices(content: ProjectContent) -> IndexArray:
    """Vertices that are held: by the scene, by the body, or since they never move."""
    if content.reroute_setup is not None:
        return content.reroute_setup.net.fixed
    if content.animation is not None:
        still = find_static_vertices(content.animation)
        return np.empty(0, dtype=np.int64) if still is None else still
    fixed = getattr(content.body, "fixed", None)
    return np.empty(0, dtype=np.int64) if fixed is None else np.asarray(fixed)


def build_net(content: ProjectContent, settings: RerouteModeSettings | None = None) -> BodySprings:
    """The scene's own net, or springs on every edge. Raises InputError for a mesh with vertices that no edge joins."""
    if content.reroute_setup is not None:
        return content.reroute_setup.net
    held = find_fixed_vertices(content) if settings is None else np.array(settings.held, dtype=np.int64)
    stiffness, mass, damping = (DEFAULT_STIFFNESS, DEFAULT_MASS, DEFAULT_DAMPING) if settings is None else (
        settings.stiffness, settings.mass, settings.damping
    )  # fmt: skip
    return BodySprings.from_mesh(
        content.mesh, stiffness=stiffness, mass=mass / len(content.mesh.vertices), damping=damping, clamp=DEFAULT_CLAMP,
        fixed=held,
    )  # fmt: skip


def update_settings(settings: RerouteModeSettings, message: Message, size: float) -> RerouteModeSettings:
    """`old` with what a message changes; size [m] of the net. Raises InputError for values that no run can have."""
    ranges: dict[str, tuple[float, float]] = {
        "alpha": ALPHA_RANGE,
        "reach": (size * REACH_RANGE[0], size * REACH_RANGE[1]),
        "within": (size * TOLERANCE_RANGE[0], size * TOLERANCE_RANGE[1]),
        "stiffness": STIFFNESS_RANGE,
        "mass": MASS_RANGE,
        "damping": DAMPING_RANGE,
    }
    numbers: dict[str, Any] = {
        n: message_values.read_number(message, n, *bounds) for n, bounds in ranges.items() if n in message
    }
    new = replace(settings, **numbers)
    if "method" in message:
        new = replace(new, method=message_values.read_choice(message, "method", METHODS))
    if "limit" in message:
        new = replace(
            new,
            limit=None
            if message["limit"] is None
            else message_values.read_number(message, "limit", *FORCE_LIMIT_RANGE),
        )
    if "frames" in message:
        new = replace(new, frames=message_values.read_integer(message, "frames", 2, MAX_FRAMES))
    return new
