"""Uploads that make their parser crash or hang are refused with the reason, and the studio goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
import pytest
from studio_cases import running

pytest.importorskip("pxr", reason="usd-core is not installed")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux has them")

NESTED = "#usda 1.0\n" + 'def Xform "a" {\n' * 100_000 + "}\n" * 100_000
ENDLESS = '#usda 1.0\n(\n    timeCodesPerSecond = inf\n)\ndef SkelRoot "a" {\n def Mesh "b" {}\n}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [(NESTED, "segmentation fault"), (ENDLESS, "timeCodesPerSecond is inf")],
    ids=["nested", "endless"],
)
def test_text_usd_bad_input(tmp_path: Path, text: str, said: str) -> None:
    with (
        running(tmp_path / "studio", tmp_path) as studio,
        httpx.Client(base_url=studio.address, timeout=600.0) as client,
    ):
        assert client.post("/enter", content=studio.guard.token).status_code == 204
        for _ in range(2):
            answer = client.post("/upload", params={"name": "a.usda"}, content=text.encode())
            assert answer.status_code == 400
            assert said in answer.json()["text"]
