"""Statistics of clipped values, whose sensitivity is true on a computer.

Each function checks its parameters, asks the budget, reads the data once, and releases one statistic::

    count(mask)   sum(x)   mean(x)   variance(x)   quantile(x, q)   histogram(x)   vector_sum(rows)

For data that comes in chunks, or is spread over processes, each has a class that adds rows, merges with others of its
kind (also after a way through `pickle`) and is released once: `Count`, `Sum`, `Mean`, `Variance`, `Quantile`,
`Histogram`, `VectorSum`. Their totals are exact integers, so that order, chunks, threads and instruction sets do not
change them.

Parameters of every release
---------------------------
budget : PrivacyBudget or None
    What pays. Its neighbouring relation and its unit decide the sensitivity. None says aloud that the accounting is
    done elsewhere; then `neighbors` must be said.
epsilon : number
    The price in pure epsilon, or with `delta` in (epsilon, delta); or give `rho`.
delta : number
    Belongs to `epsilon`, and allows Gaussian noise.
rho : number
    The price under zero-concentrated differential privacy.
mechanism : {"laplace", "gaussian"}, optional
    The noise. By default Laplace noise for epsilon, Gaussian noise for rho, and for epsilon with delta the one of the
    smaller standard deviation: Gaussian noise where one person is in many groups, else Laplace noise, which then leaves
    the delta unspent. Counts of rows get the discrete form of either.
neighbors : {"add-remove", "replace-one"}
    Needed with ``budget=None`` only.
rows_per_person : int
    How many rows one person has at most, in each group where there are groups. Needed where the budget's unit is not
    "row"; with ``budget=None`` it says that the unit is a person.
groups_per_person : int
    In how many groups one person has rows at most; needed with `by` where `rows_per_person` is.
label : str, optional
    For the budget's history.

Groups and people
-----------------
by : column, or tuple of columns
    Each row's group: integers, strings, booleans, dates or categories, of any column type.
keys : sequence, or tuple of them
    The groups that are published, declared without looking at the data; for several columns one sequence each, of which
    all combinations are published. Every declared group is in the result, absent ones too, in the declared order. Rows
    of any other group are left out. Groups are disjoint, so that all together cost what one does.
person : column
    Whose row each is. With it the bounds on contributions are enforced: of each person's rows so many are sampled, by
    the engine's randomness, and the others left out. Without it they are declared: the guarantee holds if they are
    true.
workers : int
    Threads that share the work; the GIL is released.
"""

from exactnoise.aggregates.counts import Count, count
from exactnoise.aggregates.histogram import Histogram, histogram
from exactnoise.aggregates.quantile import Quantile, quantile
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.sums import Mean, Sum, mean, sum  # noqa: A004
from exactnoise.aggregates.variance import Variance, variance
from exactnoise.aggregates.vector import VectorSum, vector_sum

__all__ = [
    "Count",
    "Histogram",
    "Mean",
    "Quantile",
    "Release",
    "Sum",
    "Variance",
    "VectorSum",
    "count",
    "histogram",
    "mean",
    "quantile",
    "sum",
    "variance",
    "vector_sum",
]
