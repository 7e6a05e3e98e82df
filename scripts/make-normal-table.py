#!/usr/bin/env python3
# Print the table of runtime/hone_rng.h: quantiles of the normal distribution's upper
# tail in units of 2^-28. Entry i belongs to the tail weight w (of 2^31): i = w below 32,
# then 32 steps per octave. See hone_normal() for how it is read.
from statistics import NormalDist


def weight(i):
    return i if i < 64 else (32 + i % 32) << (i // 32 - 1)


def entry(i):
    w = weight(i)
    if w == 1 << 31:
        return 0
    return round(-NormalDist().inv_cdf((w + 0.5) / 2**32) * 2**28)


values = [entry(i) for i in range(865)]
for i in range(0, len(values), 8):
    print("    " + ", ".join(str(v) for v in values[i : i + 8]) + ",")
