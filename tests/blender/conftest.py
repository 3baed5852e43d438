"""Blender, headless, in a process and an environment of its own: see scripts/blender_env.py."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def blender_python() -> str:
    """The Python that imports bpy."""
    place = Path(os.environ.get("CAJOLE_BLENDER") or ROOT / ".venv-blender")
    ready = place / ".ready"
    if not ready.is_file():
        pytest.skip("Blender is not here, and exchange with it is not tested; make it: make blender")
    return ready.read_text(encoding="utf-8").strip()


@pytest.fixture(scope="session")
def blender(blender_python: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs one of the scripts `inside_*.py` in Blender with a JSON document; what it answers, as JSON."""

    def run(script: str, **given: Any) -> Any:
        folder = tmp_path_factory.mktemp("blender")
        (folder / "given.json").write_text(json.dumps(given, default=str), encoding="utf-8")
        # settings and add-ons of the user stay out of it
        own = {"BLENDER_USER_RESOURCES": str(folder / "user"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [blender_python, str(HERE / f"{script}.py"), str(folder)],
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        answer = folder / "answer.json"
        assert answer.is_file(), f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        assert done.returncode == 0, done.stderr[-6000:]
        return json.loads(answer.read_text(encoding="utf-8"))

    return run
