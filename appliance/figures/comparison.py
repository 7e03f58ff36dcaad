"""Two sets of results side by side: which belong together, and by what ratio. Pure.

Results belong together if the same was asked of the disks (:class:`Key`). Where one side has
several of a key, those of the same member, layout, number of disks and job's name are paired
first, then those that agree in less; what is then left is paired only if one is left on each
side. Nothing is ever averaged over different layouts. A result that is not valid is shown with its
reason and takes no part; where only a corrected figure is known, the ratio is that of the
corrected figures and says so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from appliance.figures.quantities import SYNCHRONOUS_ENGINES

# fio's other words for the same pattern.
_SAME_PATTERN = {"readwrite": "rw"}
# A part of a run's seconds that stands for itself, and how many are needed or useful.
_BLOCK_SECONDS = 5
_LEAST_BLOCKS = 4
_MOST_BLOCKS = 20
ONE_EACH = "one value each, no interval"
WITHIN = "within the two runs"


@dataclass(frozen=True, order=True, slots=True)
class Key:
    """What was asked of the disks. ``None`` and empty: not known (a report cut short)."""

    rw: str
    direction: str
    block_size_bytes: int
    jobs: int
    iodepth: int
    engine: str

    @classmethod
    def of(
        cls,
        *,
        rw: str,
        direction: str,
        block_size_bytes: int | None,
        jobs: int | None,
        iodepth: int | None,
        engine: str,
    ) -> Key:
        """The key of a result; zero stands for what is not known."""
        depth = 1 if engine in SYNCHRONOUS_ENGINES else iodepth or 0
        return cls(
            rw=_SAME_PATTERN.get(rw, rw),
            direction=direction,
            block_size_bytes=block_size_bytes or 0,
            jobs=jobs or 0,
            iodepth=depth,
            engine=engine,
        )


@dataclass(frozen=True, slots=True)
class Observation:
    """One result as it takes part. ``unit`` is what counts as one value together: a run.

    ``label`` says where it is from (``run 12``), ``layout`` on what it was measured in words,
    ``disks`` how many that are (0: not known), ``member`` which one if only one of a stripe.
    ``value`` is its figure, by which it is compared, ``corrected`` what is probably true of one
    that is not valid. ``blocks`` are rates of parts of the run in any unit, in order of time;
    empty if unknown.
    """

    key: Key
    unit: int
    label: str
    job: str
    layout: str
    disks: int
    value: float | None
    valid: bool
    member: str = ""
    codes: tuple[str, ...] = ()
    corrected: float | None = None
    blocks: tuple[float, ...] = ()
    bins: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a row. ``values`` is one valid figure for each run or report.

    ``corrected`` are the corrected figures of those that are not valid, used only if there
    is no valid one.
    """

    layouts: tuple[str, ...]
    jobs: tuple[str, ...]
    values: tuple[float, ...]
    corrected: tuple[float, ...]
    invalid: tuple[Observation, ...]
    valid: tuple[Observation, ...]

    @property
    def by_correction(self) -> bool:
        """Only corrected figures are known."""
        return not self.values and bool(self.corrected)

    @property
    def median(self) -> float | None:
        """The median of the values, or of the corrected figures if there is no value."""
        values = self.values or self.corrected
        return statistics.median(values) if values else None


@dataclass(frozen=True, slots=True)
class Row:
    """One workload on both sides. ``basis`` says in words what the interval is made of."""

    key: Key
    a: Side | None
    b: Side | None
    ratio: Ratio | None
    basis: str


def compare(a: Iterable[Observation], b: Iterable[Observation]) -> tuple[Row, ...]:
    """A row for each workload of either side, in the order of the keys."""
    rows: list[Row] = []
    left, right = _by_key(a), _by_key(b)
    for key in sorted({*left, *right}):
        rows += [_row(key, *pair) for pair in _paired(left.get(key, []), right.get(key, []))]
    return tuple(rows)


def _by_key(observations: Iterable[Observation]) -> dict[Key, list[Observation]]:
    found: dict[Key, list[Observation]] = {}
    for one in observations:
        found.setdefault(one.key, []).append(one)
    return found


_Group = list[Observation]


def _paired(a: _Group, b: _Group) -> list[tuple[_Group, _Group]]:
    """The results of one key in pairs of groups; an empty group has no counterpart."""
    left, right = _grouped(a), _grouped(b)
    pairs: list[tuple[_Group, _Group]] = []
    rules: tuple[Callable[[Observation], object], ...] = (
        lambda one: (one.member, one.disks, one.layout, one.job),
        lambda one: (one.member, one.disks, one.job),
        lambda one: (one.member, one.disks),
        lambda one: one.job,
        lambda _: True,
    )
    for rule in rules:
        for group in list(left):
            alike = [other for other in right if rule(other[0]) == rule(group[0])]
            rivals = [other for other in left if rule(other[0]) == rule(group[0])]
            if len(alike) == len(rivals) == 1:
                pairs.append((group, alike[0]))
                left.remove(group)
                right.remove(alike[0])
    return pairs + [(group, []) for group in left] + [([], group) for group in right]


def _grouped(observations: _Group) -> list[_Group]:
    groups: dict[tuple[str, int, str, str], _Group] = {}
    for one in observations:
        groups.setdefault((one.member, one.disks, one.layout, one.job), []).append(one)
    return list(groups.values())


def _row(key: Key, a: _Group, b: _Group) -> Row:
    left, right = _side(a), _side(b)
    if left is None or right is None:
        return Row(key, left, right, None, "only on one side")
    ratio, basis = _ratio(left, right)
    return Row(key, left, right, ratio, basis)


def _side(group: _Group) -> Side | None:
    if not group:
        return None
    valid = tuple(one for one in group if one.valid and one.value)
    invalid = tuple(one for one in group if not (one.valid and one.value))
    units: dict[int, list[float]] = {}
    for one in valid:
        units.setdefault(one.unit, []).append(one.value or 0.0)
    # The passes of one run resemble each other more than two runs do: beside other runs they
    # are one value; a run alone has nothing else.
    values = (
        [statistics.median(passes) for passes in units.values()]
        if len(units) > 1
        else [value for passes in units.values() for value in passes]
    )
    return Side(
        layouts=tuple(dict.fromkeys(one.layout for one in group)),
        jobs=tuple(dict.fromkeys(one.job for one in group)),
        values=tuple(values),
        corrected=tuple(one.corrected for one in invalid if one.corrected),
        invalid=invalid,
        valid=valid,
    )


def _ratio(a: Side, b: Side) -> tuple[Ratio | None, str]:
    if a.median is None or b.median is None:
        empty = [name for name, side in (("A", a), ("B", b)) if side.median is None]
        return None, f"nothing valid in {' and '.join(empty)}"
    if a.by_correction or b.by_correction:
        return Ratio(b.median / a.median), "corrected figures, no interval"
    if len(a.values) == len(b.values) == 1:
        left, right = _blocks(a), _blocks(b)
        within = ratio(left, right) if left and right else None
        if within is not None and within.low is not None:
            return within, WITHIN
        return Ratio(b.values[0] / a.values[0]), ONE_EACH
    found = ratio(a.values, b.values)
    if found.low is None:
        return found, "too few values, no interval"
    if len(a.values) == 1 or len(b.values) == 1:
        return found, f"between values of {'B' if len(a.values) == 1 else 'A'} alone"
    return found, "between values of both"


def _blocks(side: Side) -> list[float]:
    """The parts of the only run of a side, scaled so that their mean is fio's figure."""
    (one,) = side.valid
    if len(one.blocks) < _LEAST_BLOCKS or min(one.blocks) <= 0:
        return []
    mean = statistics.fmean(one.blocks)
    return [rate / mean * (one.value or 0.0) for rate in one.blocks]


def block_means(seconds: Sequence[float]) -> tuple[float, ...]:
    """A run's rates of each second as means of equal blocks of five seconds or more.

    One second depends on the one before; blocks hardly do. A rest at the end that fills no
    block is left out, and so is everything if there is not one block.
    """
    length = max(_BLOCK_SECONDS, -(-len(seconds) // _MOST_BLOCKS))
    return tuple(
        statistics.fmean(seconds[start : start + length])
        for start in range(0, len(seconds) - length + 1, length)
    )


# ------------------------------------------------------------------------- the interval of a ratio


CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2
# Above this many values on both sides the normal approximation (ibid., large samples) is taken:
# at most one quotient wider at each end.
_EXACT_UP_TO = 20


@dataclass(frozen=True, slots=True)
class Ratio:
    """B ÷ A. ``low`` and ``high`` are ``None`` where the values support no interval."""

    value: float
    low: float | None = None
    high: float | None = None


def ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """The ratio of two sets of positive values, neither empty, with its 95 % interval.

    An interval needs for example four values on each side, or one on one side and six on the
    other.
    """
    if len(a) == 1:
        return _against_one(b, a[0])
    if len(b) == 1:
        found = _against_one(a, b[0])
        ends = None if found.low is None or found.high is None else (1 / found.high, 1 / found.low)
        return Ratio(1 / found.value, *(ends or (None, None)))
    quotients = sorted(one / other for one in b for other in a)
    value = statistics.median(quotients)
    rank = _mann_whitney_rank(len(a), len(b))
    return Ratio(value, quotients[rank - 1], quotients[-rank]) if rank else Ratio(value)


def _against_one(values: Sequence[float], one: float) -> Ratio:
    """The median of ``values`` over ``one``, with the interval of the median."""
    ordered = sorted(value / one for value in values)
    rank = _sign_rank(len(ordered))
    value = statistics.median(ordered)
    return Ratio(value, ordered[rank - 1], ordered[-rank]) if rank else Ratio(value)


def _sign_rank(count: int) -> int:
    """The largest r with P(Binomial(count, ½) < r) within the tail; 0 if there is none."""
    rank, probability = 0, 0.0
    while (probability := probability + math.comb(count, rank) / 2**count) <= _TAIL:
        rank += 1
    return rank


@lru_cache(maxsize=256)
def _mann_whitney_rank(first: int, second: int) -> int:
    """The largest r with P(U < r) within the tail, U the Mann-Whitney statistic; else 0."""
    if min(first, second) > _EXACT_UP_TO:
        spread = math.sqrt(first * second * (first + second + 1) / 12)
        quantile = statistics.NormalDist().inv_cdf(1 - _TAIL)
        return max(0, math.floor(first * second / 2 - quantile * spread))
    total = math.comb(first + second, first)
    below = 0
    for rank, ways in enumerate(_ways(first, second)):
        below += ways
        if below > _TAIL * total:
            return rank
    raise AssertionError("the probabilities do not add up to one")


def _ways(first: int, second: int) -> list[int]:
    """In how many orders of the values U takes each value from 0 to first × second.

    They are the coefficients of the Gaussian binomial: Π (1 − q^(second+i)) / (1 − q^i).
    """
    small, large = sorted((first, second))
    size = first * second + 1
    ways = [1] + [0] * (size - 1)
    for factor in range(1, small + 1):
        for power in range(size - 1, large + factor - 1, -1):
            ways[power] -= ways[power - large - factor]
        for power in range(factor, size):
            ways[power] += ways[power - factor]
    return ways
