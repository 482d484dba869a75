"""Exercises on vision transformers: cutting into patches, attention rollout."""

import numpy as np

from course_lib.homework.exercise import Exercise

P = 2


def _images(rng):
    return {
        "one gray image": (rng.standard_normal((1, 1, 4, 6)),),
        "two images in color": (rng.standard_normal((2, 3, 6, 4)),),
        "a single patch": (rng.standard_normal((3, 2, P, P)),),
    }


def _cut(images, *, order=(0, 2, 4, 1, 3, 5)):
    """Patches, row by row of the grid; axes B C rows P columns P before the move."""
    b, c, h, w = images.shape
    apart = images.reshape(b, c, h // P, P, w // P, P).transpose(order)
    return apart.reshape(b, -1, c * P * P)


PATCHES = Exercise(
    call=f"f(images), for patches of {P} by {P}",
    cases=_images,
    oracle=_cut,
    mistaken=_cut,
    slips={
        "one reshape of the image gives stripes of pixels in a row; split height and "
        "width first, then move the axes": lambda x: x.reshape(
            len(x), -1, x.shape[1] * P * P
        ),
        "the patches are listed column by column; the grid is read row by row": {
            "order": (0, 4, 2, 1, 3, 5)
        },
        "rows and columns are swapped within the patches": {
            "order": (0, 2, 4, 1, 5, 3)
        },
        "the channels come last within a patch; a convolution's filter has them "
        "first": {"order": (0, 2, 4, 3, 5, 1)},
        "each channel has patches of its own; a patch holds all channels": {
            "order": (0, 1, 2, 4, 3, 5)
        },
    },
)


def _maps(rng):
    def case(layers, heads, tokens):
        maps = rng.dirichlet(np.full(tokens, 0.5), (layers, heads, tokens))
        return (maps,)

    return {
        "three layers of two heads": case(3, 2, 5),
        "four layers of one head": case(4, 1, 7),
        "one layer": case(1, 2, 3),
    }


def _rollout(maps, *, own=0.5, order=1, heads="mean", halves=1, flip=False):
    maps = maps.sum(axis=1) if heads == "sum" else maps.mean(axis=1)
    through = np.eye(maps.shape[-1])
    for m in maps[::order]:
        step = own * np.eye(maps.shape[-1]) + (1 - own) * m
        through = halves * step @ through
    return through.T if flip else through


ROLLOUT = Exercise(
    call="f(maps), with maps of shape L H T T",
    cases=_maps,
    oracle=_rollout,
    mistaken=_rollout,
    slips={
        "the skip connection is missing: each layer passes half of a token on "
        "unchanged": {"own": 0},
        "the layers are multiplied in the wrong order: the first stands rightmost": {
            "order": -1
        },
        "the rows don't sum to 1: take half of the map and half of the identity": {
            "halves": 2
        },
        "this is the mean over the layers; rollout is their product": (
            lambda m: 0.5 * np.eye(m.shape[-1]) + 0.5 * m.mean(axis=(0, 1))
        ),
        "the heads are added up; rollout takes their mean": {"heads": "sum"},
        "this is the last layer's map alone": lambda m: m[-1].mean(axis=0),
        "the result is transposed: a row says where one token of the top comes from": {
            "flip": True
        },
    },
)

EXERCISES = {"patches": PATCHES, "attention_rollout": ROLLOUT}
