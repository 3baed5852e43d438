"""`picture` and `strip`: from a subject to pixels and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.animation import Animation
from cajole.checks import count, flag, one_of
from cajole.errors import InputError
from cajole.pictures import mitsuba
from cajole.pictures.camera import MOST_PIXELS, SMALLEST, View, checked_size
from cajole.pictures.cast import Cast, assembled, staged
from cajole.pictures.draft import draft
from cajole.pictures.frames import listed, loop_frames, rate, still_frame
from cajole.pictures.loops import LOOPS, STILLS, require_writer, suffix_of, write_loop, write_still
from cajole.pictures.props import Prop, as_props
from cajole.pictures.stage import Stage
from cajole.pictures.subject import ROLES, Subject, as_subject, in_other_state, is_positions, shape_of
from cajole.progress import Progress, report

Pixels = NDArray[np.uint8]

RENDERERS = ("auto", "mitsuba", "draft")
# what a scene's `camera` may say, and what holds where neither it nor the caller does
CAMERA: dict[str, Any] = {
    "size": (960, 640),
    "azimuth": -62.0,
    "elevation": 10.0,
    "fov": 28.0,
    "background": (0.86, 0.80, 0.70),
    "floor": (0.88, 0.83, 0.74),
    "floor_height": None,
}
OTHER_ROLE = {"input": "output", "output": "input", None: None}
# of one ghost, and of the faintest of many
GHOST_OPACITY, FAINTEST = 0.28, 0.12
MOST_SAMPLES = 65_536
# a drafted frame holds some 250 bytes per pixel, so more threads than this are paid in memory
MOST_THREADS = 4
# the camera turns when one side is so many times the other
LONGER = 1.2
STRIP_TILE = (320, 320)
STRIP_GAP = 4


def picture(
    subject: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    frame: int | None = None,
    frames: int | Iterable[int] | None = None,
    positions: ArrayLike | None = None,
    in_view: int | Iterable[int] | None = None,
    size: tuple[int, int] | None = None,
    samples: int = 16,
    azimuth: float | None = None,
    elevation: float | None = None,
    fov: float | None = None,
    background: ArrayLike | None = None,
    floor: ArrayLike | None = None,
    floor_height: float | None = None,
    colors: ArrayLike | None = None,
    role: str | None = None,
    ghost: Any = None,
    compare: Any = None,
    marks: ArrayLike | None = None,
    mark_size: float | None = None,
    arrows: tuple[ArrayLike, ArrayLike] | None = None,
    props: Iterable[Prop] | None = None,
    smooth: bool | None = None,
    wireframe: bool = False,
    renderer: str = "draft",
    seed: int = 0,
    progress: Progress | None = None,
) -> Pixels:
    """Picture a subject in a small studio: (height, width, 3) 8-bit sRGB, or (k, height, width, 3) for a loop.

    subject: MeshTri, MeshTet (its surface), Skin, Animation, or anything with an `.animation`, `.skin` or `.mesh`, such
    as a shot, a scene or a body; and perhaps a `.camera` mapping of the options size to floor_height below.
    path: .png .jpg for a still; .webp .gif .mp4 for a loop. Written whole or not at all.
    frame: of an animation's still; the one farthest from the rest shape when None. frames: of a loop, a list, or how
    many; when None and the path is a loop's, all, but at most 48. A loop plays at the animation's own speed.
    positions: (n, 3) [m] of the mesh, a pose to show instead of what the subject does.
    in_view: frames, a list or how many, that fit in the picture; those shown when None. Give the same to stills that
    belong together, and their camera stands still.
    size: (width, height) [pixels], 960 x 640, of a loop half each. azimuth, elevation: of the camera as seen from the
    subject [degrees], 10 up, and -62 around, or 28 where the subject is longer along y than along x; fov: its
    horizontal angle of view, 28. background, floor: sRGB 0..1; floor_height: z [m], the lowest point in view when None.
    colors: (3,) or (n, 3) sRGB per vertex shown. role: "input" paints the subject yellow, "output" red; what is
    compared or ghosted then takes the other colour. ghost: another state, or a list of them, transparent, and tinted
    red where it has the subject's colours; compare: one shown beside, inputs left; each a subject or positions (n, 3)
    [m] of this one, and an animation moves along and holds its last frame. marks: points (k, 3) [m] as bright spheres;
    arrows: origins and vectors, both (k, 3) [m]. props: what stands around and does not move the camera, each a
    `Prop`. smooth: shading; facets when False, and by default for tets. wireframe: draw edges.
    renderer: "draft" rasterises, a second or two for a still; "mitsuba" traces paths, `samples` per pixel, and
    denoises, half a minute. "auto" traces stills where Mitsuba is installed and drafts the rest. seed: of the tracer's
    noise.

    Raises InputError for values that make no picture, FileError where the path cannot be written, MissingExtra for
    "mitsuba" without Mitsuba or a path without Pillow, Cancelled when `progress` returns False.
    """
    suffix = None if path is None else suffix_of(path)
    require_packages(path, renderer)
    thing = shape_of(subject)
    shown = _dressed(as_subject(thing), role, colors)
    shown = shown if positions is None else shown.posed(positions)
    is_loop = frames is not None or suffix in LOOPS
    chosen = loop_frames(shown, frame, frames, suffix) if is_loop else [still_frame(thing, shown, frame)]
    asked = (size, azimuth, elevation, fov, background, floor, floor_height)
    settings = _settings(subject, dict(zip(CAMERA, asked)), {**CAMERA, "azimuth": _broadside(shown)})
    if is_loop and size is None:
        settings["size"] = loop_size(settings["size"])
    ghosts = _ghosts(shown, ghost, role)
    beside = _beside(shown, compare, role, settings)
    around = as_props(props)
    flag(wireframe, "wireframe")
    if smooth is not None:
        flag(smooth, "smooth")
    cast = assembled(
        shown, ghosts, beside, marks, arrows, smooth=smooth, wireframe=wireframe, props=around, mark_size=mark_size,
        in_view=chosen if in_view is None else listed(in_view, shown.frames, "in_view"),
    )  # fmt: skip
    stage = staged(cast, settings)
    is_traced = _is_traced(renderer, is_loop)
    count(samples, "samples", most=MOST_SAMPLES)
    count(seed, "seed", least=0, most=2**32 - 1)
    draw = partial(_traced, samples=samples, seed=seed) if is_traced else _drafted
    pixels = draw(stage, cast, chosen, progress)
    if path is None:
        return pixels if is_loop else pixels[0]
    if is_loop:
        write_loop(path, pixels, rate(shown, chosen))
        return pixels
    write_still(path, pixels[0])
    return pixels[0]


def strip(
    animation: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    frames: int | Iterable[int] = 5,
    size: tuple[int, int] = STRIP_TILE,
    onion: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Pixels:
    """Several frames of an animation in one picture: side by side, or with `onion` in one place, earlier ones faint.

    animation: an Animation or what has one, such as a shot; one camera sees all frames shown. frames: a list, or how
    many, evenly spaced. size: (width, height) [pixels] of each frame side by side, or of the whole with `onion`.
    options: as for `picture`. path: .png or .jpg. Returns (height, width, 3) 8-bit sRGB.
    Raises as `picture` does.
    """
    if path is not None:
        require_writer(path)
    moving = shape_of(animation, "animation")
    if not isinstance(moving, Animation):
        raise InputError(f"a strip shows an Animation, not a {type(animation).__name__}; use picture for that")
    if path is not None and suffix_of(path) not in STILLS:
        raise InputError(f"path is {os.fspath(path)!r}, but a strip is one picture: choose {', '.join(STILLS)}")
    flag(onion, "onion")
    chosen = listed(frames, moving.frames)
    camera = getattr(animation, "camera", None) or {}
    drawn = partial(picture, moving, **{"in_view": chosen, **camera, **options, "size": size})
    if onion:
        earlier = [moving.frame(k) for k in chosen[:-1]]
        pixels = drawn(frame=chosen[-1], ghost=earlier, progress=progress)
    else:
        pixels = side_by_side(lambda k: drawn(frame=chosen[k]), chosen, progress)
    if path is not None:
        write_still(path, pixels)
    return pixels


def side_by_side(draw: Callable[[int], Pixels], frames: Sequence[int], progress: Progress | None) -> Pixels:
    """The pictures draw(0), draw(1), … of all frames in one row (height, width, 3), with white gaps between them."""
    tiles = []
    for k, frame in enumerate(frames):
        report(progress, k / len(frames), f"frame {frame}")
        tile = draw(k)
        tiles += [tile, np.full((tile.shape[0], STRIP_GAP, 3), 255, dtype=np.uint8)]
    report(progress, 1.0, "drawn")
    return np.concatenate(tiles[:-1], axis=1)


def _dressed(subject: Subject, role: str | None, colors: ArrayLike | None = None) -> Subject:
    painted = subject if colors is None else subject.painted(colors)
    return painted if role is None else painted.in_role(one_of(role, "role", tuple(ROLES)))


def _ghosts(shown: Subject, ghost: Any, role: str | None) -> tuple[tuple[Subject, float], ...]:
    if ghost is None:
        return ()
    states = list(ghost) if isinstance(ghost, list | tuple) and not is_positions(ghost) else [ghost]
    opacities = [GHOST_OPACITY] if len(states) == 1 else np.linspace(FAINTEST, GHOST_OPACITY, len(states)).tolist()
    subjects = [_dressed(in_other_state(shown, state, "ghost"), OTHER_ROLE[role]) for state in states]
    apart = [one.tinted() if np.array_equal(one.colors, shown.colors) else one for one in subjects]
    return tuple(zip(apart, opacities))


def _beside(
    shown: Subject, compare: Any, role: str | None, settings: dict[str, Any]
) -> tuple[Subject, NDArray[np.float64]] | None:
    if compare is None:
        return None
    right = View(settings["size"], settings["azimuth"], 0.0, settings["fov"]).axes[0]
    other = _dressed(in_other_state(shown, compare, "compare"), OTHER_ROLE[role])
    return other, -right if role == "output" else right


def _settings(subject: Any, asked: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """The camera's settings: as asked, else as the subject's own camera says, else the usual ones."""
    own = getattr(subject, "camera", None) or {}
    return {name: asked[name] if asked[name] is not None else own.get(name, usual[name]) for name in usual}


def loop_size(size: tuple[int, int]) -> tuple[int, int]:
    """Half the (width, height) [pixels] of a still: a loop is many pictures."""
    width, height = checked_size(size)
    return max(width // 2, SMALLEST), max(height // 2, SMALLEST)


def _broadside(shown: Subject) -> float:
    """The azimuth [degrees] from which the longer of the rest shape's sides is seen, x unless y is clearly longer."""
    x, y, _ = np.ptp(shown.mesh.vertices[shown.mesh.used], axis=0)
    return CAMERA["azimuth"] + (90.0 if y > LONGER * x else 0.0)


def require_packages(path: str | os.PathLike[str] | None, renderer: str) -> None:
    """Raise MissingExtra if a package that draws or writes the picture is missing, InputError for other suffixes."""
    if path is not None:
        require_writer(path)
    if one_of(renderer, "renderer", RENDERERS) == "mitsuba":
        mitsuba.MITSUBA.require()


def _is_traced(renderer: str, is_loop: bool) -> bool:
    if one_of(renderer, "renderer", RENDERERS) == "auto":
        return not is_loop and mitsuba.MITSUBA.is_installed()
    return renderer == "mitsuba"


def _traced(
    stage: Stage, cast: Cast, chosen: list[int], progress: Progress | None, *, samples: int, seed: int
) -> Pixels:
    pictures = (mitsuba.trace(stage, cast.actors(frame), samples=samples, seed=seed) for frame in chosen)
    return _collected(pictures, stage, chosen, progress)


def _drafted(stage: Stage, cast: Cast, chosen: list[int], progress: Progress | None) -> Pixels:
    def draw(frame: int) -> Pixels:
        return draft(stage, cast.actors(frame))

    if len(chosen) == 1:
        return _collected(map(draw, chosen), stage, chosen, progress)
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS))
    try:
        return _collected(pool.map(draw, chosen), stage, chosen, progress)
    finally:
        pool.shutdown(cancel_futures=True)


def _collected(pictures: Iterable[Pixels], stage: Stage, chosen: list[int], progress: Progress | None) -> Pixels:
    """All pictures in one array (k, height, width, 3)."""
    width, height = stage.camera.view.size
    if len(chosen) * width * height > 16 * MOST_PIXELS:
        raise InputError(
            f"{len(chosen)} frames of {width} x {height} are too many to hold; ask for fewer or smaller ones"
        )
    report(progress, 0.0, "drawing")
    pixels = np.empty((len(chosen), height, width, 3), dtype=np.uint8)
    for done, one in enumerate(pictures):
        pixels[done] = one
        report(progress, (done + 1) / len(chosen), f"frame {chosen[done]}")
    return pixels
