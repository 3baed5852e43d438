"""`picture` and `strip`: render subjects to pixels and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.checks import require_bool, require_choice, require_integer
from cajole.errors import InputError
from cajole.pictures import mitsuba_renderer
from cajole.pictures.camera import MAX_PIXELS, MIN_SIDE_PIXELS, CameraView, check_size
from cajole.pictures.draft_renderer import render_draft
from cajole.pictures.environment import RenderEnvironment
from cajole.pictures.image_files import (
    LOOP_SUFFIXES,
    STILL_SUFFIXES,
    require_image_suffix,
    require_image_writer,
    write_loop,
    write_still,
)
from cajole.pictures.render_scene import RenderScene, build_environment, build_render_scene
from cajole.pictures.renderable import (
    ROLE_COLORS,
    Prop,
    Renderable,
    RenderSource,
    build_prop_renderables,
    build_renderable,
    build_state_renderable,
    find_most_deformed_frame,
    find_render_source,
    is_position_array,
)
from cajole.progress import ProgressCallback, report_progress


def _choose_still_frame(source: RenderSource, renderable: Renderable, frame: int | None) -> int:
    if frame is None:
        return find_most_deformed_frame(source) if renderable.frames > 1 else 0
    return _check_frame(frame, renderable.frames)


def choose_loop_frames(
    renderable: Renderable, frame: int | None, frames: int | Iterable[int] | None, suffix: str | None
) -> list[int]:
    """Frames of a loop: the given ones, or all, at most 48. Raises InputError for options of a still."""
    if frame is not None:
        raise InputError(
            f"frame={frame} asks for a still, but frames or the path's suffix for a loop; give one of them"
        )
    if suffix in STILL_SUFFIXES:
        raise InputError(
            f"frames asks for a loop, but {suffix} holds a still: choose {', '.join(LOOP_SUFFIXES)}, or use strip"
        )
    if renderable.frames < 2:
        raise InputError("a loop needs an Animation of at least two frames; for a still choose .png or .jpg")
    return resolve_frames(min(48, renderable.frames) if frames is None else frames, renderable.frames)


def resolve_frames(frames: int | Iterable[int], frame_count: int, name: str = "frames") -> list[int]:
    """A list of frames, or a number of evenly spaced ones. Raises InputError for frames out of range."""
    if isinstance(frames, int | np.integer | float | str | bytes):
        number = require_integer(frames, name, maximum=frame_count)  # type: ignore[arg-type]
        return [int(k) for k in np.linspace(0, frame_count - 1, number).round()]
    try:
        chosen = [_check_frame(frame, frame_count) for frame in frames]
    except TypeError:
        raise InputError(f"{name} must be how many, or a list of frames, not {frames!r}") from None
    if not chosen:
        raise InputError(f"{name} is empty; choose some of 0..{frame_count - 1}")
    return chosen


def _check_frame(frame: int, frame_count: int) -> int:
    if isinstance(frame, bool) or not isinstance(frame, int | np.integer):
        raise InputError(f"a frame must be a whole number, not {checks.format_value(frame)}")
    if not 0 <= frame < frame_count:
        raise InputError(f"frame {checks.format_value(frame)} is outside 0..{frame_count - 1}, the frames there are")
    return int(frame)


def compute_loop_fps(renderable: Renderable, frames: list[int]) -> float:
    """Frame rate [1/s] at which the chosen frames show the motion at its own speed."""
    steps = frames[-1] - frames[0]
    return renderable.fps * (len(frames) - 1) / steps if steps > 0 else renderable.fps


Pixels = NDArray[np.uint8]

RENDERERS = ("auto", "mitsuba", "draft")
# the options that a scene's `camera` may contain, and their defaults
DEFAULT_CAMERA: dict[str, Any] = {
    "size": (960, 640),
    "azimuth": -62.0,
    "elevation": 10.0,
    "fov": 28.0,
    "background": (0.86, 0.80, 0.70),
    "floor": (0.88, 0.83, 0.74),
    "floor_height": None,
}
OPPOSITE_ROLE = {"input": "output", "output": "input", None: None}


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
    progress: ProgressCallback | None = None,
) -> Pixels:
    """Render a subject in a virtual studio: (height, width, 3) 8-bit sRGB, or (k, height, width, 3) for a loop.

    subject: MeshTri, MeshTet (its surface), Skin, Animation, or anything with an `.animation`, `.skin` or `.mesh`, such
    as a shot, a scene or a body; and perhaps a `.camera` mapping of the options size to floor_height below.
    path: .png .jpg for a still; .webp .gif .mp4 for a loop; written atomically.
    frame: of a still; None is the one farthest from the rest shape. frames: of a loop, a list or a number; None is all,
    at most 48, if the path is that of a loop. A loop plays at the speed of the animation.
    positions: (n, 3) [m], a pose of the mesh to show.
    in_view: frames, a list or a number, that fit in the picture; None is the frames shown. The same value gives several
    stills the same camera.
    size: (width, height) [pixels], 960 x 640, of a loop half each. azimuth, elevation: of the camera as seen from the
    subject [degrees], 10 up, and -62 around, or 28 if the subject is longer along y than along x; fov: horizontal angle
    of view [degrees], 28. background, floor: sRGB 0..1; floor_height: z [m], None is the lowest visible point.
    colors: (3,), or (n, 3) per vertex, sRGB. role: "input" colours the subject yellow, "output" red, and ghosts and
    comparison the other colour. ghost: another state, or a list of them, transparent, tinted red if the colours are
    those of the subject; compare: a state beside the subject, inputs left. States are subjects or positions (n, 3) [m];
    animations play along and hold their last frame. marks: points (k, 3) [m], drawn as spheres; arrows: origins and
    vectors, both (k, 3) [m]. props: each a `Prop`, without effect on the camera. smooth: False shades facets, the
    default for tets. wireframe: draw edges.
    renderer: "draft" rasterises, a second or two per still; "mitsuba" traces `samples` paths per pixel and denoises,
    half a minute; "auto" is mitsuba for stills if it is installed, draft otherwise. seed: of the path tracer.

    Raises InputError for bad values, FileError if the path cannot be written, MissingExtra for "mitsuba" without
    Mitsuba or a path without Pillow, Cancelled when `progress` returns False.
    """
    suffix = None if path is None else require_image_suffix(path)
    require_render_packages(path, renderer)
    source = find_render_source(subject)
    renderable = _apply_colors(build_renderable(source), role, colors)
    renderable = renderable if positions is None else renderable.with_positions(positions)
    is_loop = frames is not None or suffix in LOOP_SUFFIXES
    chosen_frames = (
        choose_loop_frames(renderable, frame, frames, suffix)
        if is_loop
        else [_choose_still_frame(source, renderable, frame)]
    )
    given = (size, azimuth, elevation, fov, background, floor, floor_height)
    settings = _resolve_camera_settings(
        subject, dict(zip(DEFAULT_CAMERA, given)), {**DEFAULT_CAMERA, "azimuth": _choose_azimuth(renderable)}
    )
    if is_loop and size is None:
        settings["size"] = compute_loop_size(settings["size"])
    ghosts = _build_ghosts(renderable, ghost, role)
    comparison = _build_comparison(renderable, compare, role, settings)
    prop_renderables = build_prop_renderables(props)
    require_bool(wireframe, "wireframe")
    if smooth is not None:
        require_bool(smooth, "smooth")
    render_scene = build_render_scene(
        renderable,
        ghosts,
        comparison,
        marks,
        arrows,
        smooth=smooth,
        wireframe=wireframe,
        props=prop_renderables,
        mark_size=mark_size,
        frames_in_view=chosen_frames if in_view is None else resolve_frames(in_view, renderable.frames, "in_view"),
    )
    environment = build_environment(render_scene, settings)
    is_path_traced = _is_path_tracer(renderer, is_loop)
    require_integer(samples, "samples", maximum=65_536)
    require_integer(seed, "seed", minimum=0, maximum=2**32 - 1)
    draw = partial(_render_by_path_tracing, samples=samples, seed=seed) if is_path_traced else _render_drafts
    pixels = draw(environment, render_scene, chosen_frames, progress)
    if path is None:
        return pixels if is_loop else pixels[0]
    if is_loop:
        write_loop(path, pixels, compute_loop_fps(renderable, chosen_frames))
        return pixels
    write_still(path, pixels[0])
    return np.asarray(pixels[0])


def strip(
    animation: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    frames: int | Iterable[int] = 5,
    size: tuple[int, int] = (320, 320),
    onion: bool = False,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Pixels:
    """Render several frames in one picture: side by side, or with `onion` as transparent layers over the last one.

    animation: an Animation, or an object with one such as a shot; the camera is the same for all frames. frames: a
    list, or a number of evenly spaced ones. size: (width, height) [pixels] of each frame side by side, or of the whole
    with `onion`. options: as for `picture`. path: .png or .jpg. Returns (height, width, 3) 8-bit sRGB. Raises as
    `picture` does.
    """
    if path is not None:
        require_image_writer(path)
    source = find_render_source(animation, "animation")
    if not isinstance(source, Animation):
        raise InputError(f"a strip shows an Animation, not a {type(animation).__name__}; use picture for that")
    if path is not None and require_image_suffix(path) not in STILL_SUFFIXES:
        raise InputError(f"path is {os.fspath(path)!r}, but a strip is one picture: choose {', '.join(STILL_SUFFIXES)}")
    require_bool(onion, "onion")
    chosen_frames = resolve_frames(frames, source.frames)
    camera = getattr(animation, "camera", None) or {}
    draw = partial(picture, source, **{"in_view": chosen_frames, **camera, **options, "size": size})
    if onion:
        earlier = [source.frame(k) for k in chosen_frames[:-1]]
        pixels = draw(frame=chosen_frames[-1], ghost=earlier, progress=progress)
    else:
        pixels = render_side_by_side(lambda k: draw(frame=chosen_frames[k]), chosen_frames, progress)
    if path is not None:
        write_still(path, pixels)
    return pixels


def render_side_by_side(
    draw: Callable[[int], Pixels], frames: Sequence[int], progress: ProgressCallback | None
) -> Pixels:
    """The pictures draw(0), draw(1), … of all frames in one row (height, width, 3), separated by white gaps."""
    tiles = []
    for k, frame in enumerate(frames):
        report_progress(progress, k / len(frames), f"frame {frame}")
        tile = draw(k)
        tiles += [tile, np.full((tile.shape[0], 4, 3), 255, dtype=np.uint8)]
    report_progress(progress, 1.0, "drawn")
    return np.concatenate(tiles[:-1], axis=1)


def _apply_colors(renderable: Renderable, role: str | None, colors: ArrayLike | None = None) -> Renderable:
    painted = renderable if colors is None else renderable.with_colors(colors)
    return painted if role is None else painted.with_role_color(require_choice(role, "role", tuple(ROLE_COLORS)))


def _build_ghosts(renderable: Renderable, ghost: Any, role: str | None) -> tuple[tuple[Renderable, float], ...]:
    if ghost is None:
        return ()
    states = list(ghost) if isinstance(ghost, list | tuple) and not is_position_array(ghost) else [ghost]
    opacities = [0.28] if len(states) == 1 else np.linspace(0.12, 0.28, len(states)).tolist()
    subjects = [
        _apply_colors(build_state_renderable(renderable, state, "ghost"), OPPOSITE_ROLE[role]) for state in states
    ]
    apart = [one.with_ghost_tint() if np.array_equal(one.colors, renderable.colors) else one for one in subjects]
    return tuple(zip(apart, opacities))


def _build_comparison(
    renderable: Renderable, compare: Any, role: str | None, settings: dict[str, Any]
) -> tuple[Renderable, NDArray[np.float64]] | None:
    if compare is None:
        return None
    right = CameraView(settings["size"], settings["azimuth"], 0.0, settings["fov"]).axes[0]
    other = _apply_colors(build_state_renderable(renderable, compare, "compare"), OPPOSITE_ROLE[role])
    return other, -right if role == "output" else right


def _resolve_camera_settings(subject: Any, given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Settings of the camera: given values, otherwise those of the subject's camera, otherwise the defaults."""
    own = getattr(subject, "camera", None) or {}
    return {name: given[name] if given[name] is not None else own.get(name, defaults[name]) for name in defaults}


def compute_loop_size(size: tuple[int, int]) -> tuple[int, int]:
    """Half the (width, height) [pixels] of a still, the default of loops."""
    width, height = check_size(size)
    return max(width // 2, MIN_SIDE_PIXELS), max(height // 2, MIN_SIDE_PIXELS)


def _choose_azimuth(renderable: Renderable) -> float:
    """Azimuth [degrees] that shows the longer side of the rest shape: x unless y is 1.2 times longer."""
    x, y, _ = np.ptp(renderable.mesh.vertices[renderable.mesh.used_vertex_mask], axis=0)
    return float(DEFAULT_CAMERA["azimuth"] + (90.0 if y > 1.2 * x else 0.0))


def require_render_packages(path: str | os.PathLike[str] | None, renderer: str) -> None:
    """Raise MissingExtra if a package of the renderer or the format is missing, InputError for unknown suffixes."""
    if path is not None:
        require_image_writer(path)
    if require_choice(renderer, "renderer", RENDERERS) == "mitsuba":
        mitsuba_renderer.MITSUBA.require()


def _is_path_tracer(renderer: str, is_loop: bool) -> bool:
    if require_choice(renderer, "renderer", RENDERERS) == "auto":
        return not is_loop and mitsuba_renderer.MITSUBA.is_installed()
    return renderer == "mitsuba"


def _render_by_path_tracing(
    environment: RenderEnvironment,
    scene: RenderScene,
    frames: list[int],
    progress: ProgressCallback | None,
    *,
    samples: int,
    seed: int,
) -> Pixels:
    pictures = (
        mitsuba_renderer.render_mitsuba(environment, scene.build_meshes(frame), samples=samples, seed=seed)
        for frame in frames
    )
    return _collect_pictures(pictures, environment, frames, progress)


def _render_drafts(
    environment: RenderEnvironment, scene: RenderScene, frames: list[int], progress: ProgressCallback | None
) -> Pixels:
    def draw(frame: int) -> Pixels:
        return render_draft(environment, scene.build_meshes(frame))

    if len(frames) == 1:
        return _collect_pictures(map(draw, frames), environment, frames, progress)
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 4))  # a frame takes 250 bytes per pixel
    try:
        return _collect_pictures(pool.map(draw, frames), environment, frames, progress)
    finally:
        pool.shutdown(cancel_futures=True)


def _collect_pictures(
    pictures: Iterable[Pixels], environment: RenderEnvironment, frames: list[int], progress: ProgressCallback | None
) -> Pixels:
    """All pictures in one array (k, height, width, 3)."""
    width, height = environment.camera.view.size
    if len(frames) * width * height > 16 * MAX_PIXELS:
        raise InputError(
            f"{len(frames)} frames of {width} x {height} are too many to hold; ask for fewer or smaller ones"
        )
    report_progress(progress, 0.0, "drawing")
    pixels = np.empty((len(frames), height, width, 3), dtype=np.uint8)
    for done, one in enumerate(pictures):
        pixels[done] = one
        report_progress(progress, (done + 1) / len(frames), f"frame {frames[done]}")
    return pixels
