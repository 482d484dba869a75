"""Rounding to few bits, one number at a time."""

import numpy as np

from course_lib.oracle.weights import floats

__all__ = ["dequantize", "e4m3_numbers", "quantize"]


def e4m3_numbers() -> np.ndarray:
    """What the bytes 0 to 126 mean in E4M3; 127 is NaN, and 128 more is a minus.

    Four bits of exponent e, three of mantissa m: 2^(e-7) (1 + m/8), and 2^-6 m/8 if e
    is 0. Micikevicius et al. 2022, table 1, arXiv:2209.05433.
    """
    numbers = []
    for byte in range(127):
        e, m = divmod(byte, 8)
        numbers.append(2.0 ** (e - 7) * (1 + m / 8) if e else 2.0**-6 * m / 8)
    return np.array(numbers)


def _nearest(x: float, numbers: np.ndarray) -> int:
    """The place of the nearest number; of two, the even place."""
    gaps = np.abs(numbers - x)
    found = np.flatnonzero(gaps == gaps.min())
    return int(min(found, key=lambda place: place % 2))


def quantize(w: np.ndarray, kind: str, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of a matrix, `Dout Din` and `Dout Din/group`; nothing is packed.

    Codes are whole numbers for "int8" and "int4", bytes for "e4m3".
    """
    (w,) = floats(w)
    grid = {"int8": np.arange(128.0), "int4": np.arange(8.0), "e4m3": e4m3_numbers()}
    codes = np.zeros(w.shape, int)
    scale = np.ones((len(w), w.shape[1] // group))
    for i, j in np.ndindex(scale.shape):
        part = w[i, j * group : (j + 1) * group]
        if np.abs(part).max() > 0:
            scale[i, j] = np.abs(part).max() / grid[kind][-1]
        for k, x in enumerate(part / scale[i, j]):
            place = _nearest(abs(x), grid[kind])
            minus = place + 128 if kind == "e4m3" else -place
            codes[i, j * group + k] = minus if np.signbit(x) else place
    return codes, scale


def dequantize(codes: np.ndarray, scale: np.ndarray, kind: str) -> np.ndarray:
    """The matrix that codes and scales stand for."""
    w = codes.astype(float)
    if kind == "e4m3":
        w = np.where(codes < 128, 1, -1) * e4m3_numbers()[codes % 128]
    return w * np.repeat(scale, w.shape[1] // scale.shape[1], axis=1)
