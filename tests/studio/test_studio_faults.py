"""Studios are killed, cut off from their disk and started twice: no acknowledged edit is lost. See fault_runner."""

from __future__ import annotations

from pathlib import Path

import fault_runner
import pytest


@pytest.mark.parametrize(("kind", "rounds"), [("kill", 1), ("full disk", 2), ("read-only", 2), ("two servers", 1)])
def test_no_acknowledged_edit_is_lost_claim(tmp_path: Path, kind: str, rounds: int) -> None:
    if kind == "full disk" and not fault_runner.can_fill_disk():
        pytest.skip("this system has no limits on the files of another process, by which a disk is made full")
    tally = fault_runner.run(rounds, 1, tmp_path, (kind,))[kind]
    assert tally.faults >= rounds
    assert tally.acknowledged > 0
    assert tally.lost == []
