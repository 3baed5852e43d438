"""`cajole edit twist`, the example of the help text: library, command line and studio agree on what was reached."""

from __future__ import annotations

import json

import pytest
from fake_desk import FakeDesk
from mode_cases import do, plain
from typer.main import get_command
from typer.testing import CliRunner

from cajole.cli.app import app
from cajole.direct.editing.reach import REACHED_TOLERANCE
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.studio.mode_registry import open_scene
from cajole.studio.modes.edit.mode import EditMode


def test_help_text_example_agreement() -> None:
    """Two full turns: the targets are near the input again, but the drag was long, and 0.35 % of it is left."""
    command = get_command(app).get_command(None, "edit")  # type: ignore[attr-defined, arg-type]
    assert "cajole edit twist" in command.help

    report = load_edit_scene("twist").apply_drags().report
    printed = json.loads(CliRunner().invoke(app, ["edit", "twist", "--json"]).stdout)
    mode = EditMode(FakeDesk(), open_scene("twist", "edit"))
    do(mode, "moves")
    shown = plain(mode)["edit"]["drags"]

    keys = list(report.targets)
    assert [(hold["vertex"], hold["frame"]) for hold in printed["holds"]] == keys
    assert [(drag["node"], drag["frame"]) for drag in shown] == keys
    for key, hold, drag in zip(keys, printed["holds"], shown):
        error = report.targets[key]
        assert error.is_reached == (error.relative <= REACHED_TOLERANCE)
        assert hold["landed"] == error.is_reached == (drag["warn"] is None)
        assert hold["error_share"] == pytest.approx(error.relative, rel=1e-6)
        assert drag["missed"] == pytest.approx(error.in_body_sizes, rel=1e-6)
        if not error.is_reached:
            assert f"{100 * error.relative:.2g} % of the drag" in drag["warn"]
            assert f"{100 * error.relative:.2g} % of the drag" in str(report)
    assert printed["landed"] == report.reached
    # the drags were long, although they end where they began
    assert printed["largest_drag_sizes"] == pytest.approx(report.requested_displacement)
    assert report.requested_displacement > 0.1
