"""Ctrl-C ends the studio whatever it is at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import blocked_studio
import httpx
import pytest

from waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and parsers as Linux has them")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["mesh.vtu", "motion.glb"])
def test_upload_whose_parser_blocks_identity(tmp_path: Path, name: str) -> None:
    """The studio ends, and with it the child process, although the parser would wait forever."""
    number = tmp_path / "parser"
    options = ["--no-browser", "--folder", str(tmp_path / "studio")]
    studio = subprocess.Popen(
        [sys.executable, blocked_studio.__file__, str(number), *options], stdout=subprocess.PIPE, text=True
    )
    try:
        assert studio.stdout is not None
        address, _, token = studio.stdout.readline().strip().partition("#")
        with ThreadPoolExecutor() as pool, httpx.Client(base_url=address, timeout=PATIENCE) as client:
            assert client.post("/enter", content=token).status_code == 204
            answer = pool.submit(client.post, "/upload", params={"name": name}, content=b"text")
            wait_until(lambda: number.exists() or answer.done(), "the start of the parser")
            assert not answer.done(), answer.result().text
            studio.send_signal(signal.SIGINT)
            studio.wait(PATIENCE)
            answer.exception(PATIENCE)
    finally:
        studio.kill()
        studio.communicate()
    child = int(number.read_text(encoding="ascii"))
    wait_until(lambda: not is_alive(child), "the end of the parser")
