"""Classes of a scene for `enrich`: a guide animation, its regions, and shells of several materials."""

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
    """One material of a scene: `build_shell` is called at first use; color: sRGB in pictures.

    enrich_options: keywords of `enrich` that only this material needs, such as `forces` or `undeformed`.
    """

    description: str
    color: tuple[float, float, float]
    build_shell: Callable[[], BodyShell]
    enrich_options: Mapping[str, Any] = field(default_factory=_create_empty_mapping)

    @cached_property
    def shell(self) -> BodyShell:
        """The shell, built at first access."""
        return self.build_shell()


@dataclass(frozen=True, eq=False)
class EnrichScene:
    """A coarse animation and the shells that can track it.

    guide: the input; regions: between the meshes of guide and shell; enrich_options: keywords of `enrich`; variants:
    shells by material name, the first is the default; colliders: as `enrich` takes them; props: surroundings in
    pictures; camera: keywords of `picture`; follow: the camera of a strip follows the shell; frames_shown: frames of a
    strip.
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
        """Return the material of a name (default: the first). Raises InputError for an unknown name."""
        names = tuple(self.variants)
        return self.variants[names[0] if name is None else require_choice(name, "material", names)]

    def solve(
        self, variant: str | None = None, *, progress: ProgressCallback | None = None, **settings: Any
    ) -> EnrichResult:
        """Run `enrich` with a material; settings override those of the scene and of the material.

        With collisions= the colliders of the scene are used. Raises as `enrich` does.
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
