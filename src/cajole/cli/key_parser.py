"""Keys of `cajole keyframe`: poses in files, and what is said behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cajole import checks
from cajole.animation import read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.checks import require_positive
from cajole.cli.number_parsers import parse_number
from cajole.direct import Key, fit_pose
from cajole.errors import FileError, InputError
from cajole.mesh import read_mesh
from cajole.mesh.files import READERS
from cajole.scenes import SceneBody
from cajole.storage import read_arrays

# how an .npz names a pose
DISPLACEMENT_ARRAY = "displacement"
KEY_SYNTAX = "a frame and a file, as in 60=pose.npz or 60=walk.glb#12; behind it: on WHERE, weight NUMBER, hard"
_KEY_PATTERN = re.compile(
    r"\s*(?P<frame>\d+)=(?P<file>.+?)(?:#(?P<place>\d+))?"
    r"(?:\s+on\s+(?P<where>.+?))?(?:\s+weight\s+(?P<weight>\S+))?(?P<hard>\s+hard)?\s*"
)


@dataclass(frozen=True)
class KeySpecification:
    """What a text asks for: at a frame the pose of a file, of its frame `place`; where: which vertices count."""

    frame: int
    file: Path
    source_frame: int | None
    selection: str | None
    weight: float
    hard: bool


def load_keys(specifications: list[KeySpecification], scene_body: SceneBody, body: BodySolid) -> dict[int, Key]:
    """Keys by frame. Raises InputError for a frame given twice, FileError for bad files."""
    keys: dict[int, Key] = {}
    for asked in specifications:
        if asked.frame in keys:
            raise InputError(f"--key {asked.frame}={asked.file}: frame {asked.frame} has a key already")
        pose = load_pose(asked.file, asked.source_frame, scene_body, body)
        vertices = None if asked.selection is None else scene_body.select(asked.selection)
        if vertices is not None and len(vertices) == 0:
            raise InputError(f"the key at frame {asked.frame}: {asked.selection!r} selects no vertex")
        keys[asked.frame] = Key(pose, vertices, asked.weight, asked.hard)
    return keys


def parse_key(text: str) -> KeySpecification:
    """A key from its text. Raises InputError saying how one is written."""
    found = _KEY_PATTERN.fullmatch(text)
    if found is None:
        raise InputError(f"--key {text!r} must be {KEY_SYNTAX}")
    place = None if found["place"] is None else int(found["place"])
    weight = 1.0
    if found["weight"] is not None:
        weight = require_positive(
            parse_number(found["weight"], f"the weight of --key {text!r}"), f"the weight of --key {text!r}"
        )
    return KeySpecification(
        int(found["frame"]), Path(found["file"]), place, found["where"], weight, bool(found["hard"])
    )


def load_pose(path: Path, source_frame: int | None, scene_body: SceneBody, body: BodySolid) -> Array:
    """The displacement (n, 3) [m] in a file, of an animation its frame `place`, the last when None.

    Raises FileError for what cannot be read, InputError for vertices that are not those of the body or of its skin.
    """
    stored = _read_displacement(path) if path.suffix.lower() == ".npz" else None
    if stored is not None:
        return stored
    points = _read_positions(path, source_frame)
    if len(points) == body.vertex_count:
        return points - body.vertices
    if scene_body.skin is not None and len(points) == len(scene_body.skin.mesh.vertices):
        return fit_pose(body, scene_body.skin, points).displacement
    skin = "" if scene_body.skin is None else f" nor the {len(scene_body.skin.mesh.vertices)} of its skin"
    raise InputError(f"{path} has {len(points)} vertices, which are not the {body.vertex_count} of the body{skin}")


def _read_displacement(path: Path) -> Array | None:
    """The array of displacements in an .npz, or None when it is an animation."""
    stored = read_arrays(path, lambda name: name == DISPLACEMENT_ARRAY)
    return (
        checks.require_real_array(
            stored[DISPLACEMENT_ARRAY], f"{DISPLACEMENT_ARRAY} in {path}", (None, 3), error=FileError
        )
        if stored
        else None
    )


def _read_positions(path: Path, source_frame: int | None) -> Array:
    """Positions (k, 3) of a frame of an animation, or of a mesh."""
    if path.suffix.lower() in READERS and source_frame is None:
        return read_mesh(path).vertices
    if path.suffix.lower() not in FORMATS:
        raise FileError(f"{path}: a key is an animation ({' '.join(FORMATS)}) or a mesh file ({' '.join(READERS)})")
    animation = read_animation(path)
    frame = animation.frames - 1 if source_frame is None else source_frame
    if frame >= animation.frames:
        raise InputError(f"{path} has frames 0..{animation.frames - 1}, so there is no frame {frame}")
    return animation.positions[frame]
