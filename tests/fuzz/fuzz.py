"""Fuzz every reader, the studio's socket and its HTTP paths: `make fuzz`.

    python tests/fuzz/fuzz.py --count 100000 --seed 1
    python tests/fuzz/fuzz.py --only "animation .usda" --count 1000

Prints a table; inputs that end in anything but a result or an error of Cajole are saved under fuzz-findings, and the
exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from runner import Counts, fuzz, table
from targets import TARGETS

# inputs of one worker: what a reader leaves behind does not add up, and a target is made anew in a second
BATCH = 2000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="inputs in all (100000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other inputs (1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each reader (0)")
    parser.add_argument("--only", action="append", choices=list(TARGETS), help="one reader; may be given several times")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder of findings")
    asked = parser.parse_args()
    names = asked.only or list(TARGETS)
    results = []
    for index, name in enumerate(names):
        count = asked.count // len(names) + (index < asked.count % len(names))
        result = Counts(name)
        for start in range(asked.first, asked.first + count, BATCH):
            part = fuzz(name, asked.seed, start, min(BATCH, asked.first + count - start))
            result.findings += part.findings
            result.counts = {kind: n + part.counts[kind] for kind, n in result.counts.items()}
        results.append(result)
        print(f"{name}: {result.inputs} inputs, {len(result.findings)} findings", file=sys.stderr, flush=True)
        for finding in result.findings:
            print(f"{finding}\n  saved: {finding.save(asked.findings)}", file=sys.stderr, flush=True)
    print(table(results))
    return int(any(result.findings for result in results))


if __name__ == "__main__":
    sys.exit(main())
