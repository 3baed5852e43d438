"""Mutated inputs of every reader, of the socket and of HTTP: each ends in a result or in an error of ours.

2,000 inputs, the same in every run; `make fuzz` reads more.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random

import mutations
import pytest
from runner import Counts, Finding, fuzz, table
from targets import TARGETS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers limit themselves as Linux can")
INPUTS = 2000
NEEDS = {"usd": "pxr", "socket": "websockets", "http": "uvicorn", "project": "starlette", "command": "starlette"}
SHARES = {name: INPUTS // len(TARGETS) + (index < INPUTS % len(TARGETS)) for index, name in enumerate(TARGETS)}


@pytest.mark.parametrize("target", TARGETS)
def test_mutated_inputs_bad_input(target: str, tmp_path: Path) -> None:
    for word, package in NEEDS.items():
        if word in target and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    result = fuzz(target, seed=0, first=0, count=SHARES[target])
    assert result.inputs == SHARES[target]
    saved = "\n".join(f"{finding}\n  saved: {finding.save(tmp_path)}" for finding in result.findings)
    assert not result.findings, f"{saved}\n{table([result])}"


def test_the_same_seed_makes_the_same_inputs_identity() -> None:
    seeds = [b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", b'{"a": [1, 2.5], "b": {"c": null}}']
    kinds = (*mutations.TEXT, mutations.mutate_json)

    def made(seed: int) -> list[bytes]:
        return [mutations.mutate(Random(f"{seed} {k}"), seeds[k % 2], seeds, kinds) for k in range(200)]

    assert made(1) == made(1)
    assert made(1) != made(2)
    assert len(set(made(1))) > 150


def test_findings_are_saved_identity(tmp_path: Path) -> None:
    """The input itself, and beside it how to read it again."""
    found = Finding("mesh .obj", 3, 14, "crash", "exit code -11", b"v 0")
    path = found.save(tmp_path)
    assert path.read_bytes() == b"v 0"
    assert '--only "mesh .obj" --seed 3 --first 14 --count 1' in path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["crash", "hang", "raw", "refused"])
def test_every_end_of_an_input_is_counted_identity(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner finds what it looks for, and goes on after it."""
    monkeypatch.setenv("FUZZ_SELF_TEST", kind)
    monkeypatch.setenv("FUZZ_CPU_SECONDS", "1")
    result = fuzz("self test", seed=0, first=5, count=3)
    assert result.counts == {**Counts("").counts, kind: 1, "accepted": 2}
    assert [(each.number, each.data) for each in result.findings] == ([] if kind == "refused" else [(6, b"6")])
