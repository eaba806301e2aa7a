"""Small programs whose classes (whole.py) are counted."""

from workloads.brute import small

# name: the program, the most operators that are tried, how many classes there are, how many of them carry
PROGRAMS = {
    "a sum of shifted exponentials": (small("X:mk", "max k 0", "sub 0 1", "exp 2", "sum k 3"), 4, 7, 1),
    "division after the contraction": (small("X:mk W:kn", "dot k 0 0", "div 0 2", "dot k 3 1"), 3, 25, 1),
    "a maximum added to a factor": (small("X:mk Y:mk", "max k 0", "add 0 2", "dot k 3 1"), 3, 6, 0),
    "a sum added to a factor": (small("X:mk Y:mk", "sum k 0", "add 0 2", "dot k 3 1"), 3, 14, 2),
    "a sum taken from a factor": (small("X:mk Y:mk", "sum k 0", "sub 0 2", "dot k 3 1"), 3, 14, 2),
    "a sum times a contraction": (small("X:mk W:kn", "sum k 0", "dot k 0 1", "mul 2 3"), 3, 25, 1),
    "one accumulator or two": (small("X:mk Y:mk W:kn", "dot k 0 2", "dot k 1 2", "add 3 4"), 3, 18, 0),
    "one accumulator fed by two": (small("X:mk W:kn V:kn", "add 1 2", "dot k 0 3"), 3, 18, 0),
    "a difference of contractions": (small("X:mk Y:mk W:kn", "dot k 0 2", "dot k 1 2", "sub 3 4"), 3, 18, 0),
    "two contractions in either order": (small("X:mk A:kr B:rn", "dot k 0 1", "dot r 3 2"), 3, 14, 0),
    "a gated product summed": (small("X:mk W:kn V:kn", "dot k 0 1", "dot k 0 2", "mul 3 4", "sum n 5"), 4, 73, 0),
}
SLOW = {"a gated product summed"}  # in the benchmark
