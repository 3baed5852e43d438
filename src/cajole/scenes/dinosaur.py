"""A sauropod on four legs, 4.7 m long."""

from __future__ import annotations

from cajole.scenes.sculpt import Sculptor
from cajole.scenes.sdf import Shape

GREEN = (0.36, 0.62, 0.33)
ORANGE = (0.93, 0.52, 0.16)
NAIL = (0.95, 0.90, 0.74)


def _shape() -> Shape:
    s = Sculptor(color=GREEN)
    s.chain("torso", [(-0.58, 0, 1.06), (-0.05, 0, 1.10), (0.52, 0, 1.14)], [0.46, 0.56, 0.43], segments=8)
    neck = [(0.55, 0, 1.22), (0.98, 0, 1.62), (1.20, 0, 2.10), (1.36, 0, 2.52)]
    s.chain("neck", neck, [0.37, 0.245, 0.19, 0.17], segments=14, blend=0.22)
    tail = [(-0.62, 0, 1.05), (-1.15, 0, 0.90), (-1.72, 0.07, 0.62), (-2.30, 0.20, 0.47), (-2.82, 0.36, 0.58)]
    s.chain("tail", tail, [0.40, 0.27, 0.175, 0.11, 0.045], segments=18, blend=0.22)
    s.ellipsoid("head", (1.50, 0, 2.60), (0.29, 0.20, 0.19), pitch=12, blend=0.10)
    s.ellipsoid("head", (1.74, 0, 2.53), (0.20, 0.165, 0.125), pitch=14, blend=0.12)
    front = [(0.46, 0.29, 1.0), (0.50, 0.36, 0.55), (0.52, 0.37, 0.16)]
    s.chain("front legs", front, [0.24, 0.175, 0.175], segments=6, blend=0.16, mirror="y")
    s.ellipsoid("front legs", (0.58, 0.37, 0.10), (0.235, 0.20, 0.10), blend=0.10, mirror="y")
    hind = [(-0.48, 0.28, 0.98), (-0.38, 0.37, 0.56), (-0.50, 0.38, 0.16)]
    s.chain("hind legs", hind, [0.30, 0.20, 0.18], segments=6, blend=0.18, mirror="y")
    s.ellipsoid("hind legs", (-0.43, 0.38, 0.10), (0.24, 0.205, 0.10), blend=0.10, mirror="y")
    s.cut_below(0.0, blend=0.03)
    return s.shape()
