"""A package with one registration adds a mode to the studio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from studio_cases import running, small_motion, sway_file

from cajole.errors import InputError
from cajole.studio import mode_registry
from cajole.studio.mode_registry import ENTRY_POINT_GROUP, get_modes


def clear_caches() -> None:
    for cached in (mode_registry.get_modes, mode_registry.get_command_decoder):
        cached.cache_clear()


def install(folder: Path, name: str) -> None:
    """What pip writes for a package whose pyproject.toml has the entry point."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{name} = toy_mode:MODE\n", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with installed packages, of which the toy mode is one."""
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "toy_mode")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    clear_caches()
    yield folder
    clear_caches()


def test_a_registered_mode_opens_takes_commands_and_sends_state_and_frames_claim(site: Path, tmp_path: Path) -> None:
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        studio.hub.open_path(sway_file(tmp_path))
        tab.ask("open", project=studio.hub.active_project_id)
        project = tab.until(lambda message: message["is"] == "project")
        assert project["modes"]["stretch"] == {"possible": True, "why": None}
        assert tab.ask("mode", mode="stretch")["is"] == "done"
        state = tab.state(lambda state: state["mode"] == "stretch")
        assert (state["stretch"], state["frames"]) == ({"factor": 1.0}, small_motion().frames)
        assert tab.ask("stretch", factor=2.0)["before"] == 1.0
        assert tab.state(lambda state: state.get("stretch") == {"factor": 2.0})["unsaved"] is False
        tab.ask("frames", stream="result", list=[5])
        frame = tab.frame(lambda frame: (frame.kind, frame.frame) == (11, 5))
        surface = small_motion().mesh.surface
        assert frame.count == len(surface.vertices)
        np.testing.assert_allclose(
            np.abs(frame.positions).max(), 2.0 * np.abs(small_motion().frame(5)).max(), rtol=1e-6
        )
        refused = tab.ask("stretch", factor=20.0)
        assert refused["text"] == "factor of stretch is 20.0, but must be a number between 0.1 and 10"
        # the result goes on to another mode, and what was saved comes back
        assert tab.ask("mode", mode="edit", hand=True)["is"] == "done"
        assert "does nothing in Edit" in tab.ask("stretch", factor=1.5)["text"]
        assert tab.ask("mode", mode="stretch")["is"] == "done"
        assert tab.state(lambda state: state["mode"] == "stretch")["stretch"] == {"factor": 2.0}


def test_two_modes_of_one_name_bad_input(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import toy_mode

    twin = type(toy_mode.MODE)(**{**vars(toy_mode.MODE), "name": "edit"})
    monkeypatch.setattr(toy_mode, "MODE", twin)
    with pytest.raises(InputError, match="two modes of the studio have the name 'edit'"):
        get_modes()
