"""Pairs of primes q, p = 2q + 1 with q in [2^30, 2^31) and q = 3 mod 4, drawn at random.

The pairs are those in which 2, 3, 5 and 7 are squares in both fields: literals such as 128**-0.5 then have roots that
obey the laws of roots. One pair in about 70 is of that kind; there are thousands.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

LOW, HIGH = 1 << 30, 1 << 31
_SMALL = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_WITNESSES = (2, 3, 5, 7)  # Miller-Rabin with these is exact below 3,215,031,751; with 11 below 2^40
_SQUARES = (2, 3, 5, 7)


def is_prime(n: int) -> bool:
    """Exact for n < 2^40 (deterministic Miller-Rabin)."""
    if n < 2:
        return False
    for s in (2, *_SMALL):
        if n % s == 0:
            return n == s
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for a in (*_WITNESSES, 11):
        x = pow(a, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def _fits(q: int) -> bool:
    p = 2 * q + 1
    if any((q % s == 0) or (p % s == 0) for s in _SMALL):
        return False
    # Legendre's symbol is cheap to refuse by before primality: Euler's criterion gives +1 for a square of a prime field
    if any(pow(s, (m - 1) // 2, m) != 1 for m in (q, p) for s in _SQUARES):
        return False
    return is_prime(q) and is_prime(p)


@lru_cache(maxsize=256)
def random_pair(seed: int) -> tuple[int, int]:
    """(p, q) for a seed."""
    rng = np.random.default_rng((seed, 0x9814E))
    while True:
        start = int(rng.integers(LOW, HIGH)) // 8 * 8 + 7  # q = 7 mod 8: then 2 is a square in both fields
        for q in range(start, min(start + 8 * 512, HIGH), 8):
            if _fits(q):
                return 2 * q + 1, q
