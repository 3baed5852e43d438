"""Runs workers over targets, counts what becomes of inputs, and saves those that end in anything but an answer."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from cajole.parsers.child_process import CPU_LIMIT_VARIABLE, MEMORY_LIMIT_VARIABLE

WORKER = Path(__file__).with_name("worker.py")
KINDS = ("accepted", "refused", "raw", "hang", "crash")


@dataclass(frozen=True)
class Finding:
    """An input that did not end in a result or an error of ours."""

    target: str
    seed: int
    number: int
    kind: str
    text: str
    data: bytes

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{re.sub(r'[^a-z]+', '-', self.target)}-{self.seed}-{self.number}"
        path.write_bytes(self.data)
        path.with_suffix(".txt").write_text(f"{self}\n", encoding="utf-8", errors="replace")
        return path

    def __str__(self) -> str:
        again = f'python tests/fuzz/fuzz.py --only "{self.target}" --seed {self.seed} --first {self.number} --count 1'
        return f"{self.target}, input {self.number}: {self.kind} {self.text}\n  again: {again}"


@dataclass
class Counts:
    """What became of the inputs of a target."""

    target: str
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    findings: list[Finding] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return sum(self.counts.values())


def fuzz(target: str, seed: int, first: int, count: int) -> Counts:
    """Read `count` inputs of a target, in as many workers as are ended by an input and one more."""
    result = Counts(target)
    end = first + count
    while first < end:
        first = _run(result, target, seed, first, end - first, in_child=False)
    return result


def _run(result: Counts, target: str, seed: int, first: int, count: int, *, in_child: bool) -> int:
    """One worker; returns the number of the input to go on with."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, str(WORKER), target, *map(str, (seed, first, count)), name]
        command += ["--child"] if in_child else []
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
            "OMP_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
            CPU_LIMIT_VARIABLE: "20",
            MEMORY_LIMIT_VARIABLE: str(3 << 30),
        }
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=said, text=True) as run:
                number, is_reading = _follow(result, run, seed, Path(name))
                code = run.wait()
            said.seek(0)
            tail = said.read()[-2000:].decode(errors="replace")
        if code == 0 and not is_reading:
            return first + count
        if number is None:
            raise RuntimeError(f"the worker of {target} could not start (exit code {code}): {tail}")
        data = (Path(name) / str(number)).read_bytes()
    ends = {-signal.SIGXCPU: ("hang", "over its CPU time"), -signal.SIGALRM: ("hang", "waits for ever")}
    kind, text = ends.get(code, ("crash", f"exit code {code}: {tail.strip()[-200:]}"))
    if not in_child and _is_parsed_in_child(target):
        # the parser took the worker along, as it would have taken its child process: read the input as users do
        _run(result, target, seed, number, 1, in_child=True)
    else:
        _add(result, Finding(target, seed, number, kind, text, data))
    return number + 1


def _follow(result: Counts, run: subprocess.Popen[str], seed: int, folder: Path) -> tuple[int | None, bool]:
    """Count what a worker tells; returns the last input, and whether its outcome is missing."""
    number, is_reading = None, False
    assert run.stdout is not None
    for line in run.stdout:
        word, _, outcome = line.strip().partition(" ")
        if word == "end":
            break
        number, is_reading = int(word), outcome == "start"
        if is_reading:
            continue
        kind, _, text = outcome.partition(" ")
        if kind == "raw":
            _add(result, Finding(result.target, seed, number, kind, text, (folder / str(number)).read_bytes()))
        else:
            result.counts[kind] += 1
    return number, is_reading


def _add(result: Counts, finding: Finding) -> None:
    result.counts[finding.kind] += 1
    result.findings.append(finding)


def _is_parsed_in_child(target: str) -> bool:
    return target.endswith((".vtk", ".vtu", ".mesh", ".usda", ".usdc", ".glb"))


def table(results: list[Counts]) -> str:
    """A line a target, and their sums."""
    head = ["reader", "inputs", "accepted", "refused", "raw errors", "hangs", "crashes"]
    rows = [[each.target, each.inputs, *each.counts.values()] for each in results]
    sums = ["all", *(sum(row[k] for row in rows) for k in range(1, len(head)))]  # type: ignore[misc]
    lines = [head, *rows, sums]
    return "\n".join(f"{line[0]!s:<20}" + "".join(f"{value!s:>12}" for value in line[1:]) for line in lines)
