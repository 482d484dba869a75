"""Exercises on vision transformers: cutting into patches, attention rollout."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise

P = 2


def _images(rng):
    return {
        "one gray image": (rng.standard_normal((1, 1, 4, 6)),),
        "two images in color": (rng.standard_normal((2, 3, 6, 4)),),
        "a single patch": (rng.standard_normal((3, 2, P, P)),),
    }


def _cut(images):
    b, c, h, w = images.shape
    apart = images.reshape(b, c, h // P, P, w // P, P)
    return apart.transpose(0, 2, 4, 1, 3, 5).reshape(b, -1, c * P * P)


EXERCISES["patches"] = Exercise(
    call=f"f(images), for patches of {P} by {P}",
    cases=_images,
    oracle=_cut,
    slips={
        "one reshape of the image gives stripes of pixels in a row; split height and "
        "width first, then move the axes": ".transpose(0, 2, 4, 1, 3, 5) ->",
        "the patches are listed column by column; the grid is read row by row": (
            "2, 4, 1 -> 4, 2, 1"
        ),
        "rows and columns are swapped within the patches": "3, 5 -> 5, 3",
        "the channels come last within a patch; a convolution's filter has them "
        "first": "1, 3, 5 -> 3, 5, 1",
        "each channel has patches of its own; a patch holds all channels": (
            "2, 4, 1, 3 -> 1, 2, 4, 3"
        ),
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


def _rollout(maps):
    one = through = np.eye(maps.shape[-1])
    for layer in maps:
        through = (layer.mean(axis=0) + one) / 2 @ through
    return through


EXERCISES["attention_rollout"] = Exercise(
    call="f(maps), with maps of shape L H T T",
    cases=_maps,
    oracle=_rollout,
    slips={
        "the skip connection is missing: each layer passes half of a token on "
        "unchanged": " + one) / 2 -> )",
        "the layers are multiplied in the wrong order: the first stands rightmost": (
            "in maps -> in maps[::-1]"
        ),
        "the rows don't sum to 1: take half of the map and half of the identity": (
            " / 2 ->"
        ),
        "this is the mean over the layers; rollout is their product": (
            "return through -> return (maps.mean(axis=(0, 1)) + one) / 2"
        ),
        "the heads are added up; rollout takes their mean": "layer.mean -> layer.sum",
        "this is the last layer's map alone": (
            "return through -> return layer.mean(axis=0)"
        ),
        "the result is transposed: a row says where one token of the top comes from": (
            "return through -> return through.T"
        ),
    },
)
