"""What a scene for `reroute` is: a net, its pilot run, and goals that the second run shall meet."""

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
    """A scene whose pilot has not been run yet.

    net: the body; frames: of its pilot; run: makes that; aims: what is asked of a pilot; settings: keywords for
    `reroute`, such as `limit` or `rest_lengths`; props: what stands around; camera: keywords for `picture`;
    frames_shown: those that tell the story.
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
        """The scene with its pilot and its goals. Raises Cancelled when `progress` returns False."""
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
    """A mass-spring simulation, and where some of its nodes shall go; all else as in its plan.

    net: the body; pilot: its motion; goals: what is asked.
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
        """The second run; `settings` beside the scene's own."""
        return reroute(
            self.net, self.pilot, self.goals, method, progress=progress, **{**self.reroute_options, **settings}
        )


# what the module of a scene has under the scene's name
ReroutePlanFactory = Callable[[], ReroutePlan]
