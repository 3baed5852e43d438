"""Registration of a mode, the only place where the server refers to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.progress import ProgressCallback
from cajole.studio.content import ProjectContent
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode

CARD_RENDER_OPTIONS: Mapping[str, Any] = {"size": (720, 480), "renderer": "draft"}


@dataclass(frozen=True)
class SceneCard:
    """A scene of one mode on the start page; is_quick: no part of it takes long to compute."""

    mode: str
    name: str
    title: str
    description: str
    group: str
    facts: tuple[str, ...]
    is_quick: bool = False

    @property
    def key(self) -> str:
        return f"{self.mode}-{self.name}"


def _get_content(content: ProjectContent) -> ProjectContent:
    return content


@dataclass(frozen=True, eq=False)
class ModeDefinition:
    """A mode of the studio. A package exports one and lists it in `mode_registry`, or as an entry point of the group
    `cajole.studio_modes`.

    messages: module with the message classes that only this mode has; find_availability: tells if the mode can be
    entered with a content; create: makes the mode, of a snapshot if it was active before; it imports what is heavy.
    """

    name: str
    title: str
    description: str
    messages: str
    find_availability: Callable[[ProjectContent], ModeAvailability]
    create: Callable[[ModeHost, ProjectContent, ModeSnapshot | None], StudioMode]
    # content as the mode needs it, for example with a body made of the mesh
    prepare_content: Callable[[ProjectContent], ProjectContent] = _get_content
    # the mode can start from a mesh that does not move, and from a flow
    accepts_mesh: bool = False
    accepts_flow: bool = False
    # the mode shows contents that no mode accepts
    is_fallback: bool = False
    scene_cards: tuple[SceneCard, ...] = ()
    open_scene: Callable[[str, ProgressCallback | None], ProjectContent] | None = None
    # picture (rows, columns, 3) of a scene card, given its name and whether the scene was opened before; None if it
    # takes too long to compute. Without this function the body of that name is drawn
    draw_card: Callable[[str, bool], NDArray[np.uint8] | None] | None = None
    # files that `StudioMode.write_export` writes: formats by kind of export
    exports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
