"""The add-on's client, which is plain Python, at a running studio: in, open, back, and what it says when that fails."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from studio_cases import FRAMES, running, small_motion

from cajole.animation import Animation, read_animation

SOURCE = Path(__file__).parents[2] / "integrations" / "blender" / "cajole_studio"
NODE, FRAME = 20, 12


@pytest.fixture(scope="module")
def addon():
    """Its modules that do without Blender; the package itself would import bpy."""
    package = types.ModuleType("cajole_addon")
    package.__path__ = [str(SOURCE)]
    sys.modules["cajole_addon"] = package
    names = ("websocket", "client", "server", "caches")
    yield types.SimpleNamespace(**{name: importlib.import_module(f"cajole_addon.{name}") for name in names})
    for name in [name for name in sys.modules if name.startswith("cajole_addon")]:
        del sys.modules[name]


@pytest.fixture
def studio(tmp_path):
    with running(tmp_path / "studio") as found:
        yield found


@pytest.fixture
def client(addon, studio):
    return addon.client.Studio(addon.client.Address.of(f"{studio.address}/#{studio.guard.token}"))


def motion_of(addon):
    """The surface of the small beam, as Blender would have it."""
    moved, mesh = small_motion(), small_motion().mesh.surface
    return addon.caches.Motion("sway", moved.positions, mesh.vertices, mesh.triangles, moved.fps, 7)


def sent(addon, client, folder: Path) -> str:
    path = folder / "a sway.npz"
    addon.caches.write_npz(path, motion_of(addon))
    return client.open(upload=client.upload(path, "edit"), mode="edit")


def test_a_motion_goes_in_is_edited_and_comes_back_agreement(addon, studio, client, tmp_path):
    project = sent(addon, client, tmp_path)
    aim = small_motion().frame(FRAME)[NODE] + [0.0, 0.1, 0.0]
    with studio.tab() as tab:
        tab.ask("open", project=project)
        tab.state()
        assert tab.ask("place", node=NODE, frame=FRAME, position=list(aim))["is"] == "done"
        # the tab in the browser keeps its seat meanwhile, and is not made to download anything
        client.result(project, tmp_path / "back.npz")
        assert tab.ask("undo")["is"] == "done"
        assert not [message for message in tab.texts if message["is"] == "file"]
    found, read = addon.caches.read_npz(tmp_path / "back.npz"), read_animation(tmp_path / "back.npz")
    assert (found.start, found.fps, len(found.positions)) == (7, 24.0, FRAMES)
    np.testing.assert_array_equal(found.positions, read.positions)
    np.testing.assert_array_equal(found.triangles, small_motion().mesh.surface.triangles)
    np.testing.assert_allclose(found.positions[FRAME, NODE], aim, atol=2e-3 * read.mesh.size)


@pytest.mark.parametrize("suffix", [".npz", ".pc2", ".mdd"])
def test_caches_read_as_they_were_written_agreement(addon, tmp_path, suffix):
    motion = motion_of(addon)
    addon.caches.WRITERS[suffix](tmp_path / f"cache{suffix}", motion)
    found = read_animation(tmp_path / f"cache{suffix}", fps=24.0 if suffix == ".pc2" else None)
    assert (found.fps, found.start_frame) == (24.0, 7)
    np.testing.assert_allclose(found.positions, motion.positions, atol=1e-6)
    np.testing.assert_allclose(found.mesh.vertices, motion.rest, atol=1e-8)
    np.testing.assert_array_equal(found.mesh.triangles, motion.triangles)
    assert not list(tmp_path.glob(".*"))


def test_what_the_studio_refuses_is_said_in_its_words_bad_input(addon, studio, client, tmp_path):
    error, of = addon.client.StudioError, addon.client.Address.of
    (tmp_path / "broken.npz").write_bytes(b"no zip")
    with pytest.raises(error, match=r"broken\.npz"):
        client.upload(tmp_path / "broken.npz", "edit")
    Animation(small_motion().mesh, small_motion().positions[:1], name="still").write(tmp_path / "still.npz")
    with pytest.raises(error, match="frames"):
        client.upload(tmp_path / "still.npz", "edit")
    with pytest.raises(error, match="project"):
        client.open(project="nowhere")
    with pytest.raises(error, match="project"):
        client.result("0123456789abcdef", tmp_path / "back.npz")
    with pytest.raises(error, match="token"):
        addon.client.Studio(of(f"{studio.address}/#guess"))
    for text in ("", "127.0.0.1:8000", "http://127.0.0.1:8000/", "http://127.0.0.1:x/#y"):
        with pytest.raises(error, match="no address of a studio"):
            of(text)


def test_nobody_at_the_address_is_said_bad_input(addon):
    with pytest.raises(addon.client.StudioError, match="no studio answers"):
        addon.client.Studio(addon.client.Address("127.0.0.1", 9, "token"))


def test_a_command_that_is_not_there_is_said_bad_input(addon):
    with pytest.raises(addon.client.StudioError, match="pip install"):
        addon.server.studio("no-such-command", "")
    with pytest.raises(addon.client.StudioError, match="did not start"):
        addon.server.studio(sys.executable, "")


def test_damaged_results_are_refused_bad_input(addon, tmp_path):
    small_motion().write(tmp_path / "tets.npz")
    with pytest.raises(addon.caches.CacheError, match="tets"):
        addon.caches.read_npz(tmp_path / "tets.npz")
    np.savez(tmp_path / "pickled.npz", positions=np.array([{}], dtype=object), triangles=np.zeros((1, 3)))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "tets.npz").read_bytes()[:500])
    for name in ("pickled.npz", "cut.npz", "missing.npz"):
        with pytest.raises(addon.caches.CacheError, match="cannot be read"):
            addon.caches.read_npz(tmp_path / name)
    with pytest.raises(addon.caches.CacheError, match="cannot be written"):
        addon.caches.write_npz(tmp_path / "cut.npz" / "below.npz", motion_of(addon))
