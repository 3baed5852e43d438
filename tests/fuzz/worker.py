"""A process that reads mutated inputs: `worker.py TARGET SEED FIRST COUNT FOLDER [--child]`.

One line a start and an outcome go to standard output, so that whoever reads them knows which input ended the process.
--child: parse foreign files in child processes, as users do; otherwise in this process, which is faster.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import resource
import signal
import sys
import tempfile
import traceback
import zlib
from pathlib import Path
from random import Random

# for one input: valid ones take milliseconds
CPU_SECONDS = int(os.environ.get("FUZZ_CPU_SECONDS", "20"))
# wall-clock time of one input that waits and does not use the CPU [s]
WAIT_SECONDS = 900
MEMORY_BYTES = 3 << 30


def input_of(target: object, name: str, seed: int, number: int) -> bytes:
    """Input `number` of a target: the same for the same seed, in whichever process."""
    return target.input(Random(f"{seed} {zlib.crc32(name.encode())} {number}"), number)  # type: ignore[attr-defined]


def _allow_time() -> None:
    """Time for the next input; over it the system ends this process."""
    signal.setitimer(signal.ITIMER_REAL, WAIT_SECONDS)
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + 1 + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _outcome(target: object, data: bytes) -> str:
    from cajole.errors import CajoleError

    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return "accepted" if target.read(data) else "refused"  # type: ignore[attr-defined]
    except CajoleError as reason:
        return "refused" if len(str(reason)) > 5 else f"raw {type(reason).__name__} without a message"
    except BaseException as reason:
        frames = traceback.extract_tb(reason.__traceback__)
        own = [frame for frame in frames if "cajole" in frame.filename and "tests" not in frame.filename]
        place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
        return " ".join(f"raw {type(reason).__name__} {place} {reason}".split())[:300]


def main(name: str, seed: int, first: int, count: int, folder: Path, in_child: bool) -> None:
    from targets import TARGETS, parsers_in_this_process, self_test

    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # parsers print
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        if not in_child:
            stack.enter_context(parsers_in_this_process())
        target = stack.enter_context(contextlib.closing(_Closing(TARGETS.get(name, self_test)(Path(place))))).target
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        for number in range(first, first + count):
            data = input_of(target, name, seed, number)
            file = folder / str(number)  # one for each input: who reads it is later than this process
            file.write_bytes(data)
            say.write(f"{number} start\n")
            _allow_time()
            outcome = _outcome(target, data)
            if not outcome.startswith("raw"):
                file.unlink()
            say.write(f"{number} {outcome}\n")
    say.write("end\n")
    say.flush()
    os._exit(0)


class _Closing:
    def __init__(self, target: object):
        self.target = target

    def close(self) -> None:
        self.target.close.close()  # type: ignore[attr-defined]


if __name__ == "__main__":
    faulthandler.disable()
    words = [word for word in sys.argv[1:] if word != "--child"]
    main(words[0], int(words[1]), int(words[2]), int(words[3]), Path(words[4]), "--child" in sys.argv)
