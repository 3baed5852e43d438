"""Image and video files: stills and animated images by Pillow, videos by FFmpeg."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.checks import OptionalPackage
from cajole.errors import FileError, InputError
from cajole.storage import as_path, replace_atomically

Pixels = NDArray[np.uint8]

PILLOW = OptionalPackage(("PIL",), "pillow", "viz", "writing a picture")
FFMPEG = OptionalPackage(("imageio_ffmpeg",), "imageio-ffmpeg", "viz", "writing a video")
STILL_SUFFIXES = (".png", ".jpg", ".jpeg")
LOOP_SUFFIXES = (".webp", ".gif", ".mp4")
ENCODER_QUALITY = {".webp": 82, ".jpg": 92, ".jpeg": 92}


def require_image_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix in lower case. Raises InputError for suffixes of no picture or loop."""
    suffix = as_path(path).suffix.lower()
    if suffix not in STILL_SUFFIXES + LOOP_SUFFIXES:
        raise InputError(
            f"path is {os.fspath(path)!r}, whose suffix {suffix!r} is unknown; "
            f"choose {', '.join(STILL_SUFFIXES)} for a still or {', '.join(LOOP_SUFFIXES)} for a loop"
        )
    return suffix


def require_image_writer(path: str | os.PathLike[str]) -> None:
    """Raise MissingExtra if the package that writes this picture or loop is not installed."""
    (FFMPEG if require_image_suffix(path) == ".mp4" else PILLOW).require()


def write_still(path: str | os.PathLike[str], pixels: Pixels) -> None:
    """Write (height, width, 3) as .png or .jpg, atomically. Raises FileError, MissingExtra."""
    suffix = require_image_suffix(path)
    options: dict[str, Any] = {"quality": ENCODER_QUALITY[suffix]} if suffix in ENCODER_QUALITY else {"optimize": True}
    image = _import_pillow().fromarray(pixels)
    _save_image(path, image, **options)


def write_loop(path: str | os.PathLike[str], frames: Pixels, fps: float) -> None:
    """Write (k, height, width, 3) as a repeating .webp, .gif or .mp4, atomically.

    A frame of a .webp or .gif is shown for 10 s at most, of a .gif for 20 ms at least; an .mp4 has even sides, so that
    an odd last row or column is dropped. Raises FileError, MissingExtra; InputError for the suffix of a still.
    """
    suffix = require_image_suffix(path)
    if suffix not in LOOP_SUFFIXES:
        raise InputError(
            f"path is {os.fspath(path)!r}, a still, but there are {len(frames)} frames; use {', '.join(LOOP_SUFFIXES)}"
        )
    if suffix == ".mp4":
        _write_video(path, frames, fps)
    else:
        _write_animated_image(path, frames, fps, suffix)


def _write_animated_image(path: str | os.PathLike[str], frames: Pixels, fps: float, suffix: str) -> None:
    images = [_import_pillow().fromarray(frame) for frame in frames]
    duration = min(max(round(1000 / fps), 1), 10_000)  # [ms]; the counters of the formats overflow above
    options: dict[str, Any] = {"quality": ENCODER_QUALITY.get(suffix), "method": 4}
    if suffix == ".gif":
        # one palette for all frames: separate ones flicker
        palette = _import_pillow().fromarray(np.concatenate(frames[:: max(len(frames) // 8, 1)])).quantize(128)
        images = [image.quantize(palette=palette) for image in images]
        options, duration = {"optimize": False}, max(duration, 20)  # players slow down shorter frames
    _save_image(path, images[0], save_all=True, append_images=images[1:], duration=duration, loop=0, **options)


def _save_image(path: str | os.PathLike[str], image: Any, **options: Any) -> None:
    with replace_atomically(path) as temporary:
        try:
            image.save(temporary, **options)
        except (ValueError, RuntimeError) as reason:
            raise FileError(
                f"{os.fspath(path)} cannot hold {image.width} x {image.height} pixels: {reason}"
            ) from reason


def _write_video(path: str | os.PathLike[str], frames: Pixels, fps: float) -> None:
    # the codec halves colour in both directions, so that sides must be even
    even = frames[:, : frames.shape[1] // 2 * 2, : frames.shape[2] // 2 * 2]
    # browsers stop very short videos early: repeat the loop until it lasts 3 s, at most four times
    repeats = min(max(int(np.ceil(3.0 * fps / len(frames))), 1), 4)
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{even.shape[2]}x{even.shape[1]}", "-r", f"{fps:.6f}"]
    # rate factor 20 shows no artefacts; every browser plays yuv420p
    wanted = ["-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    with replace_atomically(path) as temporary:
        command = [_find_ffmpeg(), "-y", "-v", "error", *given, "-i", "-", *wanted, str(temporary)]
        done = subprocess.run(command, input=even.tobytes() * repeats, capture_output=True, check=False)
        if done.returncode or not temporary.stat().st_size:
            reason = done.stderr.decode(errors="replace").strip().splitlines()
            raise FileError(f"cannot write {os.fspath(path)}: the video encoder says {' '.join(reason[:2])!r}")


def resize_image(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """Resize a picture (height, width, 3) to (width, height) [pixels]. Raises MissingExtra without Pillow."""
    image = _import_pillow()
    return np.asarray(image.fromarray(pixels).resize(size, image.Resampling.LANCZOS))


def _import_pillow() -> Any:
    PILLOW.require()
    from PIL import Image

    return Image


def _find_ffmpeg() -> str:
    FFMPEG.require()
    import imageio_ffmpeg

    return str(imageio_ffmpeg.get_ffmpeg_exe())
