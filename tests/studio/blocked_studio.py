"""`cajole studio` whose parsers block: python blocked_studio.py FILE [arguments of cajole studio].

A parser writes the number of its process into FILE and waits forever. No limit ends it: only the studio does.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

VARIABLE = "CAJOLE_TEST_PARSER_FILE"


def block(path: Path, *arguments: Any, report: Any) -> dict[str, Any]:
    """Parse nothing, and never return."""
    temporary = Path(os.environ[VARIABLE]).with_suffix(".part")
    temporary.write_text(str(os.getpid()), encoding="ascii")
    temporary.replace(os.environ[VARIABLE])
    while True:
        signal.pause()


def _main() -> None:
    # under its own name, so that child processes can import it
    import blocked_studio

    from cajole.animation import glb
    from cajole.cli import main
    from cajole.mesh.formats import meshio_formats
    from cajole.parsers import child_process

    meshio_formats.parse_cells = glb.parse_glb = blocked_studio.block  # type: ignore[attr-defined]
    child_process.ParserLimits.for_file = classmethod(  # type: ignore[assignment]
        lambda cls, path: cls(1e9, 1 << 40, blocked_seconds=float("inf"))
    )
    os.environ[VARIABLE] = sys.argv[1]
    sys.argv[1:] = ["studio", *sys.argv[2:]]
    main()


if __name__ == "__main__":
    _main()
