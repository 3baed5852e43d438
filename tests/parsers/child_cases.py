"""Parsers that misbehave, each in its own way, and USD files that make usd-core do so."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cajole.errors import InputError

Report = Callable[[float], None]


def echo(path: Path, text: str | None, number: float, *, report: Report) -> dict[str, Any]:
    report(0.5)
    table = np.arange(6.0).reshape(2, 3)
    return {"text": text, "number": number, "table": table, "turned": table.T, "none": np.zeros((0, 3), ">i4")}


def refuse(path: Path, *, report: Report) -> dict[str, Any]:
    raise InputError(f"{path}: a value is wrong; change it")


def stumble(path: Path, *, report: Report) -> dict[str, Any]:
    raise IndexError("list index out of range\nsecond line")


def leave(path: Path, *, report: Report) -> dict[str, Any]:
    os._exit(3)


def run_for_ever(path: Path, *, report: Report) -> dict[str, Any]:
    while True:
        pass


def crash(path: Path, number: int, *, report: Report) -> dict[str, Any]:
    os.kill(os.getpid(), number)
    return {}


def fill_memory(path: Path, *, report: Report) -> dict[str, Any]:
    return {"table": np.ones(1 << 28)}


def wait_forever(path: Path, *, report: Report) -> dict[str, Any]:
    """Write the number of this process into the file, and block."""
    path.write_text(str(os.getpid()), encoding="ascii")
    while True:
        signal.pause()


def sleep(path: Path, *, report: Report) -> dict[str, Any]:
    time.sleep(3600)
    return {}


def stop(path: Path, *, report: Report) -> dict[str, Any]:
    """Stop until somebody continues this process, whose number is in the file."""
    path.write_text(str(os.getpid()), encoding="ascii")
    os.kill(os.getpid(), signal.SIGSTOP)
    return {"continued": True}


def forge(path: Path, text: str, *, report: Report) -> dict[str, Any]:
    """Answer with any document, as a parser that was taken over could."""
    folder = Path(report._file).parent  # type: ignore[attr-defined]
    (folder / "arrays.bin").write_bytes(bytes(16))
    (folder / "result.json").write_text(text, encoding="ascii")
    os._exit(0)


FORGED = {
    "objects": json.dumps({"plain": {}, "arrays": [["a", "|O8", [2]]]}),
    "too_long": json.dumps({"plain": {}, "arrays": [["a", "<f8", [3]]]}),
    "too_short": json.dumps({"plain": {}, "arrays": [["a", "<f8", [1]]]}),
    "negative": json.dumps({"plain": {}, "arrays": [["a", "<f8", [-1, -2]]]}),
    "huge": json.dumps({"plain": {}, "arrays": [["a", "<f8", [2**62, 4]]]}),
    "no_shape": json.dumps({"plain": {}, "arrays": [["a", "<f8", None]]}),
    "no_arrays": json.dumps({"plain": {}}),
    "list": "[]",
    "deep": "[" * 100_000,
    "text": "not JSON",
}


def write_character(path: Path, *, points: int, frames: int, joints: int) -> None:
    """A sheet that a chain of bones moves: a SkelRoot as other programs export their characters."""
    from pxr import Gf, Usd, UsdGeom, UsdSkel, Vt

    stage = Usd.Stage.CreateNew(str(path))
    stage.SetTimeCodesPerSecond(24.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdSkel.Root.Define(stage, "/character")
    names = ["/".join(f"j{k}" for k in range(j + 1)) for j in range(joints)]
    skeleton = UsdSkel.Skeleton.Define(stage, "/character/skeleton")
    skeleton.CreateJointsAttr(names)
    steps = [Gf.Vec3d(0, 0, 1.0 if j else 0.0) for j in range(joints)]
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1).SetTranslate(Gf.Vec3d(0, 0, j)) for j in range(joints)])
    skeleton.CreateRestTransformsAttr([Gf.Matrix4d(1).SetTranslate(step) for step in steps])
    motion = UsdSkel.Animation.Define(stage, "/character/motion")
    motion.CreateJointsAttr(names)
    motion.CreateTranslationsAttr([Gf.Vec3f(step) for step in steps])
    motion.CreateScalesAttr([Gf.Vec3h(1, 1, 1)] * joints)
    for frame in range(frames):
        angle = 0.1 * np.sin(0.3 * frame)
        turn = Gf.Quatf(float(np.cos(angle / 2)), float(np.sin(angle / 2)), 0, 0)
        motion.CreateRotationsAttr().Set(Vt.QuatfArray([turn] * joints), frame)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets(["/character/motion"])
    _bind_sheet(stage, int(points**0.5), joints)
    stage.Save()


def _bind_sheet(stage: Any, side: int, joints: int) -> None:
    from pxr import UsdGeom, UsdSkel, Vt

    x, z = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, joints, side))
    places = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3).astype(np.float32)
    number = np.arange(side * side, dtype=np.int32).reshape(side, side)
    quads = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], axis=-1).reshape(-1, 4)
    sheet = UsdGeom.Mesh.Define(stage, "/character/sheet")
    sheet.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(quads), 4, np.int32)))
    sheet.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(quads.reshape(-1)))
    sheet.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(places))
    low = np.clip(places[:, 2].astype(np.int32), 0, joints - 1)
    share = np.clip(places[:, 2] - low, 0, 1).astype(np.float32)
    binding = UsdSkel.BindingAPI.Apply(sheet.GetPrim())
    binding.CreateSkeletonRel().SetTargets(["/character/skeleton"])
    pairs = np.stack([low, np.minimum(low + 1, joints - 1)], axis=1)
    binding.CreateJointIndicesPrimvar(False, 2).Set(Vt.IntArray.FromNumpy(pairs.reshape(-1)))
    weights = np.stack([1 - share, share], axis=1)
    binding.CreateJointWeightsPrimvar(False, 2).Set(Vt.FloatArray.FromNumpy(weights.reshape(-1)))


def bake_unchecked(path: Path, *, report: Report) -> dict[str, Any]:
    from pxr import Usd

    from cajole.parsers import usd

    return {"done": usd._bake_skinning(Usd.Stage.Open(str(path)))}
