"""`cajole studio` on a disk that a test makes read-only: python faulty_studio.py FLAG [arguments of cajole studio].

While the file FLAG exists, no file can be made. Permissions would not do: they do not keep the superuser from writing.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from cajole.cli import main

make = tempfile.mkstemp


def refused(*arguments: Any, **options: Any) -> tuple[int, str]:
    if FLAG.exists():
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    return make(*arguments, **options)


if __name__ == "__main__":
    FLAG = Path(sys.argv[1])
    tempfile.mkstemp = refused  # type: ignore[assignment]
    sys.argv[1:] = ["studio", *sys.argv[2:]]
    main()
