"""The beat of a heart: springs along the wall shorten, those through it lengthen, atria before ventricles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.dynamics.driven import Watch, simulate_driven
from cajole.progress import Progress
from cajole.scenes.enriching.easing import smooth
from cajole.scenes.rerouting.heart_shape import GROOVE, heart_net, heights, layer_of

FRAMES, DT = 58, 1 / 60
# [s] of a beat, how long a part contracts, when atria and ventricles begin, and how long the wave climbs from the apex
BEAT, SYSTOLE, ATRIA, VENTRICLES, CLIMB = 0.85, 0.42, 0.02, 0.16, 0.06
# the share by which springs along the wall shorten, in ventricles and atria, and by which those through it lengthen
SHORTER, SHORTER_ATRIA, THICKER = 0.13, 0.08, 0.12
# [rad] up to where the apex contracts less
TIP = 0.6


@cache
def beat() -> Array:
    """(frames, m) [m] the rest lengths of the springs."""
    net = heart_net()
    ends = net.edges
    height: Array = heights()[ends].mean(axis=1)
    through = layer_of(ends[:, 0]) != layer_of(ends[:, 1])
    # the apex is a stiff tip: where all columns meet, full contraction would fold the wall into itself
    most = np.where(height > GROOVE, SHORTER_ATRIA, SHORTER) * smooth(height / TIP)
    share = np.where(through, THICKER * smooth(height / TIP), -most)
    begins: Array = np.where(height > GROOVE, ATRIA, VENTRICLES + CLIMB * height / GROOVE)
    times: Array = DT * np.arange(FRAMES, dtype=np.float64)[:, None]
    return np.asarray(net.rest_lengths * (1.0 + share * contraction(times - begins)))


def contraction(time: Array) -> Array:
    """0 at rest to 1, of what begins to contract at 0 [s] and every BEAT after."""
    phase = np.where(time < 0.0, 0.0, time % BEAT) / SYSTOLE
    return np.asarray(np.sin(np.pi * np.clip(phase, 0.0, 1.0)) ** 2)


def heart_pilot(progress: Progress | None = None, watch: Watch | None = None) -> Animation:
    """A beat and the beginning of the next."""
    run = simulate_driven(heart_net(), FRAMES, DT, rest_lengths=beat(), watch=watch, progress=progress)
    return replace(run, name="heart")
