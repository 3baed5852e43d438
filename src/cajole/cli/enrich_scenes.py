"""`cajole enrich NAME`: a built-in scene in one of its materials."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cajole import checks
from cajole.animation import Animation
from cajole.body import BodyShell
from cajole.direct.enriching import EnrichResult
from cajole.errors import InputError
from cajole.progress import Progress, portion
from cajole.scenes.enriching import enrich_scene, enrich_scene_names, enrich_view

# what can be said of a scene; all else it has by itself
SAID = {
    "source", "material", "dt", "newton", "frames", "gravity", "collisions", "friction", "distance", "output",
    "left_alone", "as_json",
}  # fmt: skip


def is_scene(source: str) -> bool:
    """Whether a source names a scene to enrich. Raises InputError for what can be no file either."""
    if source in enrich_scene_names():
        return True
    if not Path(source).suffix:
        known = ", ".join(enrich_scene_names())
        raise InputError(f"{source!r} is no scene to enrich ({known}) and no file; files have a suffix")
    return False


def require_sayable(source: str, said: Iterable[str]) -> None:
    """Raise InputError for the first option, by its name in Python, that a scene has no use for, or a file."""
    if not is_scene(source):
        if "material" in said:
            raise InputError(
                f"--material is for scenes; what {source} becomes is said by --young, --thickness and so on"
            )
        return
    for name in said:
        if name not in SAID:
            raise InputError(f"--{name.replace('_', '-')} is the scene's own; leave it out, or give a file")


def enriched_scene(
    name: str, material: str | None, settings: dict[str, Any], progress: Progress
) -> tuple[Animation, BodyShell, EnrichResult, dict[str, Any]]:
    """The guide, the shell, what became of it, and keywords for pictures of that.

    settings: keywords for `enrich`, in place of the scene's own; its colliders take part where there are collisions.
    """
    scene = enrich_scene(name, progress=portion(progress, 0.0, 0.1))
    if material is not None:
        checks.one_of(material, "--material", tuple(scene.materials))
    result = scene.enriched(material, progress=portion(progress, 0.1, 1.0), **settings)
    return scene.guide, scene.material(material).shell, result, enrich_view(scene, material)
