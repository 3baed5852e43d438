"""What stands around a subject: seen with it, moving along, but not what the camera looks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cajole.animation import Animation
from cajole.checks import require_instance, require_sequence
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, Skin
from cajole.pictures.renderable import Renderable, build_renderable


@dataclass(frozen=True, eq=False)
class Prop:
    """A thing beside the subject. shape: an animation moves along; color: sRGB, the shape's own when None.

    opacity: 1 for what hides what is behind it, less for water and glass.
    Raises InputError for an opacity outside 0..1 and a colour that is none.
    """

    name: str
    shape: MeshTri | MeshTet | Skin | Animation
    color: tuple[float, float, float] | None = None
    opacity: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.opacity <= 1:
            raise InputError(f"the opacity of {self.name} is {self.opacity}, but must be above 0 and at most 1")
        self.build_renderable()

    def build_renderable(self) -> Renderable:
        """As `picture` draws it."""
        plain = build_renderable(self.shape, self.name)
        return plain if self.color is None else plain.with_colors(self.color, f"the colour of {self.name}")


def build_prop_renderables(props: Iterable[Prop] | None) -> tuple[tuple[Renderable, float], ...]:
    """Subjects with their opacities. Raises InputError for what is no Prop."""
    listed = () if props is None else require_sequence(props, "props", "a list of Prop")
    for prop in listed:
        require_instance(prop, Prop, "each of props")
    return tuple((prop.build_renderable(), prop.opacity) for prop in listed)
