"""How everything here is measured: CPU time of one thread, warm, the minimum of repeats, ratios within one run.

Wall clock lies on a busy machine; CPU time of one thread does so least. Importing this module limits the threads.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401  its OpenBLAS must be loaded to be limited
from threadpoolctl import threadpool_limits

os.environ["CAJOLE_THREADS"] = "1"
threadpool_limits(1)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def cpu_seconds(
    work: Callable[[], Any], *, repeats: int = 3, warm: bool = True, before: Callable[[], Any] = lambda: None
) -> float:
    """Least CPU seconds of `work` over `repeats`, after one unmeasured call when `warm`; `before` each, unmeasured."""
    if warm:
        before()
        work()
    best = float("inf")
    for _ in range(repeats):
        before()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@dataclass
class Table:
    """Rows of (what, ours, naive way, paper or peer), all in seconds; None where there is none."""

    title: str
    rows: list[tuple[str, float, float | None, str, float | None]] = field(default_factory=list)

    def add(
        self, what: str, ours: float, *, naive: float | None = None, peer: str = "", peer_time: float | None = None
    ):
        self.rows.append((what, ours, naive, peer, peer_time))
        print(self._row(self.rows[-1]), flush=True)

    def start(self) -> None:
        print(
            f"\n## {self.title}\n\n{date.today()}, {machine()}; CPU seconds of one thread, warm, minimum of repeats\n"
        )
        print("| what | ours | naive way | naive / ours | paper or peer | peer / ours |")
        print("|---|---|---|---|---|---|", flush=True)

    @staticmethod
    def _row(row: tuple[str, float, float | None, str, float | None]) -> str:
        what, ours, naive, peer, peer_time = row
        plain = ["", ""] if naive is None else [_time(naive), f"{naive / ours:.1f}x"]
        other = [peer, ""] if peer_time is None else [f"{peer} {_time(peer_time)}", f"{peer_time / ours:.1f}x"]
        return "| " + " | ".join([what, _time(ours), *plain, *other]) + " |"


def machine() -> str:
    """Processor and Python, as the table's reader needs them."""
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _time(seconds: float) -> str:
    for limit, scale, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"
