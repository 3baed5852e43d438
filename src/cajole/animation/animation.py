"""Animation: vertex positions over time on a mesh."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.animation.contacts import Contacts
from cajole.animation.format_registry import FORMATS, find_output_format, require_known_options
from cajole.animation.frame_blocks import (
    check_frame_array,
    choose_frame_dtype,
    compute_bounds_over_frames,
    compute_max_displacement,
    iter_frame_blocks,
)
from cajole.checks import format_value, require_instance, require_integer, require_safe_magnitude
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, Skin
from cajole.parsers.frame_rates import MAX_FRAMES
from cajole.progress import ProgressCallback
from cajole.storage import as_path

FrameArray = NDArray[np.floating[Any]]

# a frame index closer than this to a whole number is one; also keeps a last frame that rounding puts beyond the end
_FRAME_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """Vertex positions over time on a mesh.

    mesh: the rest shape; positions: (frames, n, 3) [m], float64, or float32 if memory-mapped or large, shared with the
    caller and not copied; fps: frames per second. Optional: velocities (frames, n, 3) [m/s], `contacts`, `skin` (a
    coloured surface that follows the mesh), `name`, `start_frame` (number of the first frame in programs that count
    from elsewhere; here frames count from 0), and `notes` on unusual properties of the motion.
    Raises InputError if a value is not finite, or the number of vertices differs from that of the mesh.
    """

    mesh: MeshTet | MeshTri | MeshLine
    positions: FrameArray
    fps: float = 60.0
    velocities: FrameArray | None = field(default=None, kw_only=True)
    contacts: Contacts | None = field(default=None, kw_only=True)
    skin: Skin | None = field(default=None, kw_only=True)
    start_frame: int = field(default=0, kw_only=True)
    name: str = field(default="animation", kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    # arrays whose frames are known to be finite; `dataclasses.replace` passes them on, so that they are not read again
    _checked: tuple[FrameArray, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        require_instance(self.mesh, (MeshTet, MeshTri, MeshLine), "mesh")
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"name is {format_value(self.name)}, but must be text of at least one letter")
        n = len(self.mesh.vertices)
        positions = check_frame_array(self.positions, "positions", n, already_checked=self._checked)
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "fps", require_safe_magnitude(self.fps, "fps"))
        object.__setattr__(
            self, "start_frame", require_integer(self.start_frame, "start_frame", minimum=-(2**31), maximum=2**31)
        )
        checked: tuple[FrameArray, ...] = (positions,)
        if self.velocities is not None:
            velocities = check_frame_array(
                self.velocities, "velocities", n, len(positions), already_checked=self._checked
            )
            object.__setattr__(self, "velocities", velocities)
            checked = (positions, velocities)
        object.__setattr__(self, "_checked", checked)
        if self.contacts is not None:
            require_instance(self.contacts, Contacts, "contacts")
            self.contacts.require_within(len(positions), n)
        if self.skin is not None:
            require_instance(self.skin, Skin, "skin")
            skin, embedding = self.skin, self.skin.embedding
            carried = len(skin.mesh.vertices) if embedding is None else embedding.vertex_count
            if carried != n:
                state = "is not embedded, and has" if embedding is None else "is embedded in a mesh of"
                raise InputError(
                    f"the skin {state} {carried} vertices, but the animation's mesh has {n}; "
                    "embed the skin in the mesh that is animated"
                )

    def __repr__(self) -> str:
        return f"Animation({self.name!r}, {self.frames} frames of {self.n} vertices at {self.fps:g} frames/s)"

    def __len__(self) -> int:
        return self.frames

    def __getitem__(self, frame: int) -> NDArray[np.float64]:
        """A new (n, 3) float64 array [m] of the positions at one frame; -1 is the last. `trimmed` selects several."""
        if isinstance(frame, slice):
            raise InputError("an animation takes one frame, as in animation[3]; use animation.trimmed(start, stop)")
        return self.frame(require_integer(frame, "frame", minimum=-self.frames, maximum=self.frames - 1) % self.frames)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """The positions (n, 3) [m] of each frame."""
        return (self.frame(frame) for frame in range(self.frames))

    @property
    def frames(self) -> int:
        """The number of frames; also len(animation)."""
        return len(self.positions)

    @property
    def n(self) -> int:
        """The number of vertices."""
        return len(self.mesh.vertices)

    @property
    def dt(self) -> float:
        """The time from one frame to the next [s], 1 / fps."""
        return 1.0 / self.fps

    @property
    def duration(self) -> float:
        """The time from the first frame to the last [s]."""
        return (self.frames - 1) / self.fps

    @property
    def times(self) -> NDArray[np.float64]:
        """(frames,) [s] the time of each frame; the first is at zero."""
        return np.arange(self.frames) / self.fps

    @property
    def displacements(self) -> NDArray[np.float64]:
        """(frames, n, 3) [m] positions minus the rest shape, in memory."""
        return np.asarray(self.positions - self.mesh.vertices)

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """(2, 3) [m] least and greatest coordinates over all frames."""
        return compute_bounds_over_frames(self.positions)

    @cached_property
    def largest_displacement(self) -> float:
        """The largest distance of a vertex from its rest position over all frames [m]."""
        return compute_max_displacement(self.positions, self.mesh.vertices)

    def frame(self, frame: int) -> NDArray[np.float64]:
        """A new (n, 3) float64 array [m] of the positions at one frame, 0 to frames - 1."""
        return np.array(
            self.positions[require_integer(frame, "frame", minimum=0, maximum=self.frames - 1)], dtype=np.float64
        )

    def trimmed(self, start: int = 0, stop: int | None = None) -> Animation:
        """Frames start to stop - 1, on the same memory. Raises InputError if none would be left."""
        first = require_integer(start, "start", minimum=0, maximum=self.frames - 1)
        last = require_integer(self.frames if stop is None else stop, "stop", minimum=first + 1, maximum=self.frames)
        contacts = self.contacts
        if contacts is not None:
            contacts = contacts.selected((contacts.frame >= first) & (contacts.frame < last))
            contacts = contacts.with_frames(contacts.frame - first)
        return replace(
            self,
            positions=self.positions[first:last],
            velocities=None if self.velocities is None else self.velocities[first:last],
            contacts=contacts,
            start_frame=self.start_frame + first,
        )

    def resampled(self, fps: float) -> Animation:
        """The same motion at another number of frames per second, linear between frames.

        It starts at the same time and ends at the last new frame within the old ones. Contacts move to the nearest one.
        """
        rate = require_safe_magnitude(fps, "fps")
        frames = (self.frames - 1) * rate / self.fps + 1
        if frames > MAX_FRAMES:
            raise InputError(f"{rate:g} frames/s would make {frames:.3g} frames, more than {MAX_FRAMES}; ask for fewer")
        at = np.arange(int(frames + _FRAME_TOLERANCE)) * (self.fps / rate)  # in units of old frames
        contacts = self.contacts
        if contacts is not None:
            frame = np.rint(contacts.frame * rate / self.fps).astype(np.int64)
            contacts = contacts.with_frames(np.minimum(frame, len(at) - 1))
        return replace(
            self,
            positions=_interpolate_frames(self.positions, at),
            velocities=None if self.velocities is None else _interpolate_frames(self.velocities, at),
            fps=rate,
            contacts=contacts,
            start_frame=round(self.start_frame * rate / self.fps),
        )

    def moved(self, positions: ArrayLike) -> Animation:
        """The same mesh, skin and rate with other positions (frames, n, 3) [m]; velocities and contacts are dropped."""
        return replace(self, positions=cast("FrameArray", positions), velocities=None, contacts=None, notes=())

    def skinned(self) -> Animation:
        """The motion of the skin as an animation of its triangles, with its colours."""
        skin = self.skin
        if skin is None:
            raise InputError("the animation has no skin; give it one: dataclasses.replace(animation, skin=skin)")
        n = len(skin.mesh.vertices)
        positions = np.empty((self.frames, n, 3), dtype=choose_frame_dtype(self.frames, n))
        for block in iter_frame_blocks(self.frames, n):
            positions[block] = compute_skin_positions(skin, self.positions[block])
        return Animation(
            skin.mesh,
            positions,
            self.fps,
            skin=replace(skin, embedding=None),
            start_frame=self.start_frame,
            name=self.name,
        )

    def write(self, path: str | os.PathLike[str], *, progress: ProgressCallback | None = None, **options: Any) -> None:
        """Write a file, or a sequence of files, in the format that the suffix of the path names.

        An existing file is replaced at the very end; a failed write leaves it unchanged.
        .npz keeps everything (`single=True` halves it). USD keeps all but contacts, positions in single precision.
        .pc2 and .mdd keep positions of all vertices (`vertices="all" | "surface" | "skin"`), and the mesh beside them
        in a file of the same stem if there is none (`companion=True`: always, `False`: never). .glb and .obj are for
        viewing: they keep the skin, or else the surface (`vertices=`); .glb also takes `every`, `max_targets` and
        `normals`. .html is a page that plays in any browser, with `every`, `max_bytes` and `camera`.
        An .obj is a sequence: jump.obj becomes jump_0000.obj, jump_0001.obj, ...; jump_###.obj sets the digits. An
        older sequence of that name is removed; files that Cajole did not write are never replaced.
        Raises FileError for a path without a known suffix and if the file cannot be written; Cancelled.
        """
        place = as_path(path)
        kind = find_output_format(place)
        require_known_options(kind.write, options, f"writing {kind.name}")
        kind.write(self, place, progress=progress, **options)

    def _repr_html_(self) -> str | None:
        """A view that can be rotated and played in a notebook cell, with as many frames as fit."""
        render = FORMATS[".html"].render_notebook
        return None if render is None else render(self)


def require_animation(value: object, name: str = "animation") -> Animation:
    """`value` if it is an Animation, or its attribute `animation`, as of a Shot. Raises InputError otherwise."""
    found = value if isinstance(value, Animation) else getattr(value, "animation", None)
    if not isinstance(found, Animation):
        raise InputError(f"{name} must be an Animation, or have one, not {type(value).__name__}")
    return found


def compute_skin_positions(skin: Skin, positions: FrameArray) -> NDArray[np.float64]:
    """Skin vertices [m] for mesh positions (n, 3) or (frames, n, 3) [m]; without embedding the skin is the mesh."""
    if skin.embedding is None:
        return np.asarray(positions, dtype=np.float64)
    return skin.deform(np.asarray(positions, dtype=np.float64))


def _interpolate_frames(array: FrameArray, fractional_frames: FrameArray) -> FrameArray:
    """Linear interpolation of (frames, n, 3) at fractional frames; whole frames are unchanged."""
    low = np.minimum(np.floor(fractional_frames + _FRAME_TOLERANCE).astype(np.int64), len(array) - 1)
    high = np.minimum(low + 1, len(array) - 1)
    share = np.clip(fractional_frames - low, 0.0, 1.0)
    share[share < _FRAME_TOLERANCE] = 0.0
    count, n = len(fractional_frames), array.shape[1]
    result = np.empty((count, *array.shape[1:]), dtype=choose_frame_dtype(count, n))
    for block in iter_frame_blocks(count, n):
        a, b, s = array[low[block]], array[high[block]], share[block, None, None]
        result[block] = (1 - s) * a + s * b
    return result
