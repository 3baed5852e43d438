"""What `cajole edit` opens: an animation from a file, the body that moves with it, and what it touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation import Animation, Contacts, find_contacts
from cajole.arrays import IndexArray
from cajole.body import BodyShell, BodySolid, MaterialShell, MaterialStVK, body_around
from cajole.cli.options import ABOUT_BODY, Asked
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh
from cajole.mesh.line import require_surface
from cajole.progress import Progress
from cajole.scenes import select

KINDS = ("solid", "shell", "around")
CELLS = ABOUT_BODY["cells"][1]
COLUMNS = ("frame", "vertex", "normal", "kind", "other")


@dataclass(frozen=True, eq=False)
class Cast:
    """A body as `edit` takes it, None to have one made that holds `fixed`; parts and a camera, where it has them."""

    body: Any
    fixed: IndexArray | None = None
    parts: Mapping[str, IndexArray] = field(default_factory=dict)
    camera: Mapping[str, Any] = field(default_factory=dict)


def cast(animation: Animation, asked: Asked, thickness: float | None, progress: Progress) -> Cast:
    """The body that is asked for: one of KINDS of the animation's own mesh, or a scene or mesh file.

    With no kind, the material and the cells decide: none given, and `edit` makes one that suits the motion.
    Raises InputError for a kind that does not fit the mesh, and options that do not fit the kind.
    """
    made = {"young": asked.young, "poisson": asked.poisson, "density": asked.density, "thickness": thickness}
    given = {name: value for name, value in made.items() if value is not None}
    kind = asked.source
    if asked.tets is not None and kind in ("", *KINDS):
        raise InputError("--tets is for scenes, which are generated; the animation has the mesh it has")
    held = chosen(animation, asked.fixed or [], {}) if kind in ("", *KINDS) else None
    if not kind:
        if not given and asked.cells == CELLS:
            return Cast(None, held)
        kind = "solid" if isinstance(animation.mesh, MeshTet) else "around"
    if thickness is not None and kind != "shell":
        raise InputError("--thickness is for shells; say --body shell")
    if kind not in KINDS:
        subject = Asked(**{**vars(asked), "source": kind}).subject(progress)
        return Cast(subject.body(), parts=subject.parts, camera=subject.camera)
    return Cast(_own(kind, require_surface(animation.mesh, "edit"), given, held, asked.cells))


def chosen(animation: Animation, texts: list[str], parts: Mapping[str, IndexArray]) -> IndexArray | None:
    """The vertices that any of the selections means; None when there are no selections."""
    if not texts:
        return None
    return np.unique(np.concatenate([select(text, animation.mesh, parts) for text in texts]))


def frames_of(text: str, name: str) -> tuple[int, int]:
    """Two frames, "first:last"."""
    words = text.split(":")
    if len(words) != 2 or not all(word.strip().isdecimal() for word in words):
        raise InputError(f"{name} {text!r} must be two frames, as in 20:80")
    return int(words[0]), int(words[1])


def _own(kind: str, mesh: MeshTet | MeshTri, given: dict[str, float], fixed: IndexArray | None, cells: int) -> Any:
    if isinstance(mesh, MeshTet) != (kind == "solid"):
        better = '"solid"' if isinstance(mesh, MeshTet) else '"shell" or "around"'
        raise InputError(f"--body {kind} does not fit an animation of a {type(mesh).__name__}; choose {better}")
    if isinstance(mesh, MeshTet):
        return BodySolid(mesh, MaterialStVK(**given), fixed=fixed)
    if kind == "shell":
        return BodyShell(mesh, MaterialShell(**given), fixed=fixed)
    return body_around(mesh, MaterialStVK(**given), resolution=cells, fixed=fixed)


def touched(animation: Animation, texts: list[str], progress: Progress) -> Contacts | None:
    """Contacts with "ground", "self" and mesh files, all together; None when there are none."""
    if not texts:
        return None
    found = [
        find_contacts(animation, text if text in ("ground", "self") else _obstacle(text), progress=progress)
        for text in texts
    ]
    columns = {name: np.concatenate([getattr(each, name) for each in found]) for name in COLUMNS}
    return Contacts(**columns) if len(columns["frame"]) else None


def _obstacle(text: str) -> MeshTet | MeshTri:
    from cajole.mesh.files import READERS

    if Path(text).suffix.lower() not in READERS:
        raise InputError(f'--contacts {text!r} must be "ground", "self" or a mesh file ({" ".join(READERS)})')
    return require_surface(read_mesh(text), f"--contacts {text}")
