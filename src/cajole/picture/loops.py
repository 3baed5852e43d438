"""Pictures and loops as files: stills by Pillow, moving pictures by Pillow or FFmpeg."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError, InputError, MissingExtra
from cajole.storage import atomic_path

Pixels = NDArray[np.uint8]

STILLS = (".png", ".jpg", ".jpeg")
LOOPS = (".webp", ".gif", ".mp4")
QUALITY = {".webp": 82, ".jpg": 92, ".jpeg": 92}
GIF_COLORS = 128
# players slow down what asks for shorter frames
SHORTEST_GIF_MS = 20
# longer, and the formats' counters overflow
LONGEST_MS = 10_000
# a browser stops a very short video before it has begun; the loop is repeated until it lasts this long [s]
SHORTEST_VIDEO = 3.0


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix in lower case. Raises InputError when no picture or loop can be written under it."""
    suffix = Path(path).suffix.lower()
    if suffix not in STILLS + LOOPS:
        raise InputError(
            f"path is {os.fspath(path)!r}, whose suffix {suffix!r} is unknown; "
            f"choose {', '.join(STILLS)} for a still or {', '.join(LOOPS)} for a loop"
        )
    return suffix


def write_still(path: str | os.PathLike[str], pixels: Pixels) -> None:
    """Write (height, width, 3) as .png or .jpg; the file is whole or absent. Raises FileError, MissingExtra."""
    suffix = suffix_of(path)
    options: dict[str, Any] = {"quality": QUALITY[suffix]} if suffix in QUALITY else {"optimize": True}
    image = _pillow().fromarray(pixels)
    _save(path, image, **options)


def write_loop(path: str | os.PathLike[str], frames: Pixels, fps: float) -> None:
    """Write (k, height, width, 3) as .webp, .gif or .mp4 that repeats; the file is whole or absent.

    A frame of a .webp or .gif is shown for 10 s at most, of a .gif for 20 ms at least; an .mp4 has even sides, so that
    an odd last row or column is left out. Raises FileError, MissingExtra; InputError for the suffix of a still.
    """
    suffix = suffix_of(path)
    if suffix not in LOOPS:
        raise InputError(
            f"path is {os.fspath(path)!r}, a still, but there are {len(frames)} frames; use {', '.join(LOOPS)}"
        )
    if suffix == ".mp4":
        _write_video(path, frames, fps)
    else:
        _write_frames(path, frames, fps, suffix)


def _write_frames(path: str | os.PathLike[str], frames: Pixels, fps: float, suffix: str) -> None:
    images = [_pillow().fromarray(frame) for frame in frames]
    duration = min(max(round(1000 / fps), 1), LONGEST_MS)
    options: dict[str, Any] = {"quality": QUALITY.get(suffix), "method": 4}
    if suffix == ".gif":
        # one palette for all frames, or colours flicker
        palette = _pillow().fromarray(np.concatenate(frames[:: max(len(frames) // 8, 1)])).quantize(GIF_COLORS)
        images = [image.quantize(palette=palette) for image in images]
        options, duration = {"optimize": False}, max(duration, SHORTEST_GIF_MS)
    _save(path, images[0], save_all=True, append_images=images[1:], duration=duration, loop=0, **options)


def _save(path: str | os.PathLike[str], image: Any, **options: Any) -> None:
    with atomic_path(path) as temporary:
        try:
            image.save(temporary, **options)
        except (ValueError, RuntimeError) as reason:
            raise FileError(
                f"{os.fspath(path)} cannot hold {image.width} x {image.height} pixels: {reason}"
            ) from reason


def _write_video(path: str | os.PathLike[str], frames: Pixels, fps: float) -> None:
    writer = _ffmpeg()
    # the codec halves colour in both directions, so that sides must be even
    even = np.ascontiguousarray(frames[:, : frames.shape[1] // 2 * 2, : frames.shape[2] // 2 * 2])
    repeats = min(max(int(np.ceil(SHORTEST_VIDEO * fps / len(frames))), 1), 4)
    with atomic_path(path) as temporary:
        # "x264" quality 20 is where differences stop being seen; yuv420p is what every browser plays
        stream = writer.write_frames(
            str(temporary),
            even.shape[2:0:-1],
            fps=fps,
            codec="libx264",
            pix_fmt_out="yuv420p",
            macro_block_size=2,
            quality=None,
            output_params=["-crf", "20", "-movflags", "+faststart"],
            ffmpeg_log_level="error",
        )
        try:
            stream.send(None)
            for _ in range(repeats):
                for frame in even:
                    stream.send(frame.tobytes())
        except OSError as reason:
            raise FileError(f"cannot write {os.fspath(path)}: the video encoder stopped: {reason}") from reason
        finally:
            stream.close()
        if not temporary.stat().st_size:
            raise FileError(f"cannot write {os.fspath(path)}: the video encoder refused {fps:g} frames/s; choose .webp")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("pillow", "viz", "writing a picture") from None
    return Image


def _ffmpeg() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise MissingExtra("imageio-ffmpeg", "viz", "writing a video") from None
    return imageio_ffmpeg
