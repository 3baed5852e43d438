"""Every example runs, and passes the check that it brings along."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))


def test_examples_are_numbered_identity():
    assert [path.name[:2] for path in EXAMPLES] == [f"{i:02d}" for i in range(1, len(EXAMPLES) + 1)]
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_claim(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))["check"]()
