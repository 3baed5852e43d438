"""Contours of images by scikit-image: the largest closed line around the region brighter than a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import map_coordinates

from cajole import checks
from cajole.arrays import Array
from cajole.direct.rerouting.sections import compute_signed_area
from cajole.errors import InputError

SCIKIT_IMAGE = checks.OptionalPackage(("skimage",), "scikit-image", "images", "contours of images")


def check_images(images: Sequence[ArrayLike] | ArrayLike) -> Array:
    """Images as (k, height, width). Raises InputError where their sizes differ or one is no grey image."""
    given = checks.require_sequence(images, "images", "a list of grey images")  # type: ignore[arg-type]
    listed = [_check_grey_image(image, f"images[{i}]") for i, image in enumerate(given)]
    if not listed:
        raise InputError("images is empty: give at least one section")
    for i, image in enumerate(listed):
        if image.shape != listed[0].shape:
            sizes = [f"{height} x {width}" for height, width in (image.shape, listed[0].shape)]
            raise InputError(
                f"images[{i}] has {sizes[0]} pixels, but images[0] {sizes[1]}; sections of one stream have one size: "
                "crop or scale them alike"
            )
    return np.array(listed)


def find_contour(image: Array, name: str, level: float | None = None) -> Array:
    """(m, 2) [pixels] rows and columns of the largest closed line at `level`.

    The default is half the height of the edge: Otsu's level between two greys finds the edge, and is then moved to the
    middle between the greys on its two sides. With three greys, Otsu's own line is off by half a pixel.
    Raises InputError for an image without a contour, MissingExtra without scikit-image.
    """
    SCIKIT_IMAGE.require()
    from skimage import filters, measure

    # blurred by one pixel: finer noise is not part of the shape
    smooth = filters.gaussian(image, sigma=1.0, mode="nearest", preserve_range=True)
    if level is not None:
        return _find_largest_contour(measure, smooth, level, name)
    if smooth.min() == smooth.max():
        raise InputError(f"{name} has no contour: it is {smooth.min():.4g} everywhere; leave it out")
    rough = _find_largest_contour(measure, smooth, float(filters.threshold_otsu(smooth)), name)
    # the middle between the median greys three pixels inside and outside of the edge
    tangents = np.roll(rough, -1, axis=0) - np.roll(rough, 1, axis=0)
    normals = 3.0 * tangents[:, ::-1] * (1.0, -1.0) / np.linalg.norm(tangents, axis=1, keepdims=True)
    sides = [map_coordinates(smooth, (rough + side * normals).T, order=1, mode="nearest") for side in (1.0, -1.0)]
    level = 0.5 * float(np.median(sides[0]) + np.median(sides[1]))
    return _find_largest_contour(measure, smooth, level, name)


def _find_largest_contour(measure: Any, image: Array, level: float, name: str) -> Array:
    low, high = float(image.min()), float(image.max())
    if not low < level < high:
        raise InputError(f"{name} has no contour at level {level:.4g}, it is {low:.4g} to {high:.4g}; change level")
    lines = measure.find_contours(image, level)
    closed = [line[:-1] for line in lines if len(line) > 3 and np.array_equal(line[0], line[-1])]
    if not closed:
        raise InputError(
            f"{name} has no closed contour at level {level:.4g}: all {len(lines)} lines run out of the image; use a "
            "larger section, or change level"
        )
    largest = max(closed, key=lambda line: abs(compute_signed_area(line)))
    share = abs(compute_signed_area(largest)) / image.size
    if share < 0.004:
        raise InputError(
            f"{name} has no contour larger than {share:.2%} of the image at level {level:.4g}, which is a speck; "
            "change level, or leave it out"
        )
    return np.asarray(largest)


def _check_grey_image(image: Any, name: str) -> Array:
    if np.ndim(image) == 3:
        raise InputError(f"{name} has colours (shape {np.shape(image)}); give grey values (height, width)")
    grey = checks.require_real_array(image, name, (None, None))
    if grey.size == 0:
        raise InputError(f"{name} has no pixels (shape {grey.shape}); leave it out, or write it anew")
    return grey
