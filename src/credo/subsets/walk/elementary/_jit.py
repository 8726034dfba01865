"""ln and exp of many numbers at a time, compiled; `tests/reference/test_elementary_jit.py` asks NumPy.

A step of a walk takes the logarithm and the exponential of every column. Those of the C library come one by one, 8 ns
each; loops without branches are made of vector instructions: 2 ns. Numbers are taken apart by their bits, eight bytes
read as an integer: 52 of the fraction, then the exponent, of which 1023 is zero.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit

Array = NDArray[np.float64]

# Numbers that are worked on together, so that they stay in the cache.
_BLOCK = 512
# ln 2 in two parts: the first has zeros at its end, so that its products with exponents are exact.
_LN2, _LN2_REST = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
_FRACTION, _ZERO = np.uint64(52), np.uint64(1023)
# Added to the bits of x, it carries into the exponent from √½ · 2^e on: the fraction is between √½ and √2 then.
_TO_MIDDLE = np.uint64((1023 << 52) - int(np.float64(math.sqrt(0.5)).view(np.int64)))
# 2^52 + i has the integer i for its last bits, and 1.5 · 2^52 + i also for negative i.
_INTEGER, _INTEGER_BITS, _SIGNED = 2.0**52, np.uint64((1023 + 52) << 52), 1.5 * 2.0**52
# Below, e^x isn't a normal number.
_LEAST = -708.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def logs(x: Array) -> None:
    """Replace positive normal numbers by their logarithms.

    With x = 2^e m and s = (m − 1)/(m + 1), |s| < 0.172, ln x = e ln 2 + 2s(1 + s²/3 + s⁴/5 + …).
    """
    exponents, fractions = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.uint64)
    exponent, fraction, every = exponents.view(np.float64), fractions.view(np.float64), x.view(np.uint64)
    for start in range(0, len(x), _BLOCK):
        size = min(_BLOCK, len(x) - start)
        bits, out = every[start : start + size], x[start : start + size]
        for i in range(size):
            e = (bits[i] + _TO_MIDDLE) >> _FRACTION
            exponents[i], fractions[i] = e | _INTEGER_BITS, bits[i] - ((e - _ZERO) << _FRACTION)
        for i in range(size):
            e, s = exponent[i] - (_INTEGER + 1023.0), (fraction[i] - 1.0) / (fraction[i] + 1.0)
            z = s * s
            series = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0)))
            series = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * series)))
            series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * series)
            out[i] = e * _LN2 + (2.0 * s + (2.0 * s * z * series + e * _LN2_REST))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def exps(x: Array) -> None:
    """Replace numbers that aren't positive, or −∞, by their exponentials; below e^−708 by zero.

    With e the integer nearest to x/ln 2 and r = x − e ln 2, |r| < 0.347, e^x = 2^e (1 + r + r²/2! + …).
    """
    powers, rests = np.empty(_BLOCK), np.empty(_BLOCK)
    bits = powers.view(np.uint64)
    for start in range(0, len(x), _BLOCK):
        size = min(_BLOCK, len(x) - start)
        out = x[start : start + size]
        for i in range(size):
            value = out[i] if out[i] > _LEAST else _LEAST
            powers[i] = value * (1.0 / math.log(2.0)) + _SIGNED
            e = powers[i] - _SIGNED
            rests[i] = (value - e * _LN2) - e * _LN2_REST
        for i in range(size):
            bits[i] = (bits[i] + _ZERO) << _FRACTION
        for i in range(size):
            r = rests[i]
            series = 1.0 / 39916800.0 + r * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
            series = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * series))
            series = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * series))
            series = 0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * series))
            value = powers[i] * (1.0 + r * (1.0 + r * series))
            out[i] = value if out[i] > _LEAST else 0.0
