"""What a scene for `enrich` is: a guide, the regions that follow it, and the materials it can be made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from cajole.animation import Animation
from cajole.body import BodyShell
from cajole.checks import require_choice
from cajole.direct.enriching import EnrichResult, Regions, enrich
from cajole.errors import InputError
from cajole.pictures import Prop
from cajole.progress import ProgressCallback


def _create_empty_mapping() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False)
class ShellVariant:
    """What the guide becomes: `make` makes the shell when it is first asked for; color: sRGB of its pictures.

    settings: keywords for `enrich` that only this material takes, such as `forces` or `undeformed`.
    """

    description: str
    color: tuple[float, float, float]
    build_shell: Callable[[], BodyShell]
    enrich_options: Mapping[str, Any] = field(default_factory=_create_empty_mapping)

    @cached_property
    def shell(self) -> BodyShell:
        """The body that `enrich` moves."""
        return self.build_shell()


@dataclass(frozen=True, eq=False)
class EnrichScene:
    """A coarse animation and the shells that can follow it.

    guide: the input; regions: between the guide's mesh and the shell's; settings: keywords for `enrich`; materials: by
    name, the first is the usual one; colliders: what the shell may bump into, as `enrich` takes it; props: what stands
    around; camera: keywords for `picture`; follow: whether it goes along in strips; frames_shown: those that tell the
    story.
    """

    name: str
    title: str
    description: str
    guide: Animation
    regions: Regions
    variants: Mapping[str, ShellVariant]
    enrich_options: Mapping[str, Any] = field(default_factory=_create_empty_mapping)
    colliders: tuple[Any, ...] = ()
    props: tuple[Prop, ...] = ()
    camera: Mapping[str, Any] = field(default_factory=_create_empty_mapping)
    follow_camera: bool = False
    frames_shown: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if not self.variants:
            raise InputError(f"the scene {self.name} has no material; give at least one")
        beyond = [frame for frame in self.frames_shown if not 0 <= frame < self.guide.frames]
        if beyond:
            raise InputError(f"frame {beyond[0]} shall be shown, but the guide has {self.guide.frames} frames")

    @property
    def default_shell(self) -> BodyShell:
        """The shell of the first material."""
        return self.get_variant().shell

    def get_variant(self, name: str | None = None) -> ShellVariant:
        """The material of that name, the first when None. Raises InputError for a name that is none."""
        names = tuple(self.variants)
        return self.variants[names[0] if name is None else require_choice(name, "material", names)]

    def solve(
        self, variant: str | None = None, *, progress: ProgressCallback | None = None, **settings: Any
    ) -> EnrichResult:
        """`enrich` of the guide in a material; settings override the scene's own and the material's.

        With collisions= the scene's colliders take part. Raises as `enrich` does.
        """
        # settings that collisions alone take
        collision_options = ("friction", "distance")
        cloth = self.get_variant(variant)
        own: dict[str, Any] = {**self.enrich_options, **cloth.enrich_options, **settings}
        if own.get("collisions") is not None:
            own.setdefault("colliders", self.colliders)
        else:
            own = {name: value for name, value in own.items() if name in settings or name not in collision_options}
        return enrich(self.guide, cloth.shell, self.regions, progress=progress, **own)


EnrichSceneFactory = Callable[[ProgressCallback | None], EnrichScene]
