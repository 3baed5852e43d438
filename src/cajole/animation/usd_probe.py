"""A look at a binary USD file from a process of its own: USD can crash on a damaged one, and must not take us along.

Run as a script it reads all that `read_usd` will read of the file, and prints what USD complains of.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CRATE = b"PXR-USDC"
# seconds for a file of any size, and more for each byte: a slow disk reads a megabyte in less
_PATIENCE, _PATIENCE_PER_BYTE = 20.0, 1e-6
# seconds between two looks at the child; a cancelled read ends within this time
_GLANCE = 0.1


def complaint(path: Path, prim: str | None, waiting: Callable[[], None]) -> str | None:
    """None when a child process could read the file, else what became of it; meanwhile `waiting` is called."""
    command = [sys.executable, "-P", str(Path(__file__)), str(path), *([prim] if prim else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    limit = _PATIENCE + _PATIENCE_PER_BYTE * path.stat().st_size
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=quiet, stdout=pipe, stderr=quiet) as child:
        try:
            code = _watched(child, limit, waiting)
        finally:
            child.kill()
        said = b"" if child.stdout is None else child.stdout.read()
    if code is None:
        return f"USD did not finish reading it in {limit:.0f} s"
    if code < 0:
        return f"USD crashed while reading it, signal {-code}"
    return None if code == 0 else said.decode(errors="replace")


def skinned(stage: Any) -> bool:
    """Make bones and blend shapes motions of the points that they move, in memory alone; whether that could be done."""
    from pxr import Usd, UsdSkel

    if not any(prim.IsA(UsdSkel.Root) for prim in stage.Traverse()):
        return True
    layer = stage.GetSessionLayer()
    # at another rate than the stage's, the times of what is written there would be stretched
    layer.timeCodesPerSecond = stage.GetTimeCodesPerSecond()
    with Usd.EditContext(stage, layer):
        return bool(UsdSkel.BakeSkinning(stage.Traverse()))


def _watched(child: subprocess.Popen[bytes], limit: float, waiting: Callable[[], None]) -> int | None:
    start = time.monotonic()
    while time.monotonic() - start < limit:
        try:
            return child.wait(_GLANCE)
        except subprocess.TimeoutExpired:
            waiting()
    return None


def _touch(path: str, wanted: str | None) -> None:
    """Read every attribute of the meshes, at every time, and every transform above them."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(path)
    skinned(stage)
    for prim in stage.Traverse():
        chosen = wanted in (None, prim.GetName(), str(prim.GetPath())) or prim.HasAttribute("cajole:corners")
        if chosen and (prim.IsA(UsdGeom.Mesh) or prim.IsA(UsdGeom.TetMesh)):
            for attribute in prim.GetAttributes():
                _values(attribute)
        if prim.IsA(UsdGeom.Xformable):
            for time_code in UsdGeom.Xformable(prim).GetTimeSamples():
                UsdGeom.XformCache(time_code).GetLocalToWorldTransform(prim)


def _values(attribute: Any) -> None:
    attribute.Get()
    for time_code in attribute.GetTimeSamples():
        attribute.Get(time_code)


def _main(path: str, wanted: str | None = None) -> int:
    try:
        _touch(path, wanted)
    except Exception as error:
        with contextlib.suppress(UnicodeDecodeError):  # USD quotes the file's bytes as they are
            print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    # Python would wait for USD's threads at exit, and a damaged file can break those as well
    os._exit(_main(*sys.argv[1:]))
