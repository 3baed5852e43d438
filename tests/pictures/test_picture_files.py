"""Picture files: the right size, the right number of frames, whole or absent."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import Cancelled, FileError
from cajole.pictures import picture, strip

Image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize(("name", "slack"), [("a.png", 0), ("a.jpg", 12), ("A.PNG", 0)])
def test_a_still_reads_back_identity(sphere, tmp_path, name, slack):
    pixels = picture(sphere, tmp_path / name, renderer="draft", size=(48, 32))
    with Image.open(tmp_path / name) as image:
        read = np.asarray(image.convert("RGB")).astype(int)
    assert np.abs(read - pixels).mean() <= slack
    assert read.shape == (32, 48, 3)


@pytest.mark.parametrize("suffix", ["webp", "gif"])
def test_a_loop_has_its_frames_size_and_speed_identity(wag, tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    pixels = picture(wag, path, frames=[0, 2, 4, 6], size=(48, 32))
    with Image.open(path) as image:
        assert image.n_frames == 4
        assert image.size == (48, 32)
        assert image.info["loop"] == 0
        image.seek(1)
        image.load()
        # every second frame of 20 per second
        assert image.info["duration"] == 100
        shown = np.asarray(image.convert("RGB")).astype(int)
    assert np.abs(shown - pixels[1]).mean() < 12
    assert list(tmp_path.iterdir()) == [path]


def test_a_video_has_its_frames_and_size_identity(wag, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    picture(wag, tmp_path / "a.mp4", frames=10, size=(64, 48))
    count, seconds = ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    # ten frames at 20 per second, shown four times
    assert count == 40
    assert seconds == pytest.approx(2, abs=0.1)
    reader = ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    assert next(reader)["size"] == (64, 48)
    reader.close()


def test_all_frames_of_a_short_animation_loop_identity(wag, tmp_path):
    assert len(picture(wag, tmp_path / "a.webp", size=(16, 16))) == wag.frames


def test_a_strip_is_written_identity(wag, tmp_path):
    pixels = strip(wag, tmp_path / "a.png", frames=3, size=(24, 24), renderer="draft")
    with Image.open(tmp_path / "a.png") as image:
        assert (np.asarray(image) == pixels).all()


def test_a_stopped_loop_leaves_the_old_file_bad_input(wag, tmp_path):
    path = tmp_path / "a.webp"
    path.write_bytes(b"old")
    with pytest.raises(Cancelled):
        picture(wag, path, size=(16, 16), progress=lambda share, text: share < 0.5)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_bad_input(sphere, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FileError, match="cannot write"):
        picture(sphere, tmp_path / "file" / "a.png", renderer="draft", size=(16, 16))


def test_a_picture_too_wide_for_its_format_bad_input(wag, tmp_path):
    from cajole.pictures.image_files import write_loop

    with pytest.raises(FileError, match="cannot hold 20000 x 2"):
        write_loop(tmp_path / "a.webp", np.zeros((2, 2, 20_000, 3), dtype=np.uint8), 24.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fps", [1e-6, 1e6])
@pytest.mark.parametrize("suffix", ["webp", "gif"])
def test_odd_rates_still_make_a_loop_identity(tmp_path, fps, suffix):
    from cajole.pictures.image_files import write_loop

    frames = np.random.default_rng(0).integers(0, 255, size=(3, 16, 16, 3), dtype=np.uint8)
    write_loop(tmp_path / f"a.{suffix}", frames, fps)
    with Image.open(tmp_path / f"a.{suffix}") as image:
        assert image.n_frames == 3


def test_a_rate_that_no_video_has_bad_input(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    from cajole.pictures.image_files import write_loop

    with pytest.raises(FileError, match="video encoder"):
        write_loop(tmp_path / "a.mp4", np.zeros((2, 16, 16, 3), dtype=np.uint8), 1e12)
    assert not list(tmp_path.iterdir())
