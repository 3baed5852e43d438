"""Classes of a scene for `reroute`: a mass-spring network, its pilot simulation, and goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from cajole.animation import Animation
from cajole.body import BodySprings
from cajole.direct.rerouting import Goal, RerouteResult, reroute
from cajole.dynamics.prescribed_motion import FrameCallback
from cajole.pictures import Prop
from cajole.progress import ProgressCallback


def _create_empty_mapping() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False)
class ReroutePlan:
    """A scene whose pilot simulation has not been run.

    net: the body; frames: of the pilot; simulate_pilot: runs it; build_goals: computes goals from it; reroute_options:
    keywords of `reroute`, such as `limit` or `rest_lengths`; props: surroundings in pictures; camera: keywords of
    `picture`; frames_shown: frames of a strip.
    """

    name: str
    title: str
    description: str
    net: BodySprings
    frames: int
    simulate_pilot: Callable[[ProgressCallback | None, FrameCallback | None], Animation]
    build_goals: Callable[[Animation], Sequence[Goal]]
    reroute_options: Mapping[str, Any] = field(default_factory=_create_empty_mapping)
    props: tuple[Prop, ...] = ()
    camera: Mapping[str, Any] = field(default_factory=_create_empty_mapping)
    frames_shown: tuple[int, ...] = ()

    def build_scene(self, progress: ProgressCallback | None = None) -> RerouteScene:
        """Run the pilot and compute the goals. Raises Cancelled when `progress` returns False."""
        pilot = self.simulate_pilot(progress, None)
        return RerouteScene(
            self.name,
            self.title,
            self.description,
            self.net,
            pilot,
            tuple(self.build_goals(pilot)),
            self.reroute_options,
            self.props,
            self.camera,
            self.frames_shown,
        )


@dataclass(frozen=True, eq=False)
class RerouteScene:
    """A mass-spring simulation and targets for some of its nodes; other fields as in its plan.

    net: the body; pilot: its motion; goals: the targets.
    """

    name: str
    title: str
    description: str
    net: BodySprings
    pilot: Animation
    goals: tuple[Goal, ...]
    reroute_options: Mapping[str, Any] = field(default_factory=_create_empty_mapping)
    props: tuple[Prop, ...] = ()
    camera: Mapping[str, Any] = field(default_factory=_create_empty_mapping)
    frames_shown: tuple[int, ...] = ()

    def solve(
        self, method: str = "pattern", *, progress: ProgressCallback | None = None, **settings: Any
    ) -> RerouteResult:
        """Run `reroute`; settings override those of the scene."""
        return reroute(
            self.net, self.pilot, self.goals, method, progress=progress, **{**self.reroute_options, **settings}
        )


# what the module of a scene has under the scene's name
ReroutePlanFactory = Callable[[], ReroutePlan]
