"""Other people's ways to find the odd one, on the fleet that ours is judged with: ``make fleet``.

Each gives every unit a score, of which there is one threshold that is published, and one that is
found by looking at the answer: the lowest with at most 5 % false ones. Nobody has that one in life.
All look at the last 28 days, in which each oddity is whole, and a disk that is quicker than the
others never counts; both are in their favour.

- **3 sigma**: a machine's mean in a job beside mean and standard deviation of its type's machines,
  a disk's mean await beside those of its stripe likewise.
- **MAD**: the same with median and median absolute deviation, from 3.5 on (Iglewicz and Hoaglin
  1993, How to Detect and Handle Outliers, ASQC 16).
- **isolation forest** (Liu, Ting and Zhou, ICDM 2008; scikit-learn's): a unit's figures of all
  jobs, each in standard deviations of its type. ``contamination``: 'auto', and the true share.
- **Perseus** (Lu et al., Perseus: A Fail-Slow Detection Framework for Cloud Storage Systems,
  FAST '23): in each node latency over throughput of all its drives' samples; outliers are put aside
  (principal components, DBSCAN), a polynomial is fitted to the rest, a sample's slow-down is its
  latency ÷ the upper bound of 99.9 % prediction, and drives that are slow through a window are
  events, which are ranked by how slow and how long.

  Adapted: a sample is a run instead of 15 s, and the window 20 of them (there 5 min). A node's jobs
  are apart: 1 MiB and 4 KiB of one throughput have no common curve. A drive's throughput is its
  share of the stripe's. An event is a window whose median slow-down is above 1; instead of the
  paper's levels of risk, whose weights are those of its fleet, a drive has the slowest window of
  all. Degree, eps and the least points of a cluster are ours. It was made for drives in use; here
  the load always is the most that a machine can do, so throughput tells little, and a machine that
  is slow as a whole is beyond it.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from sklearn.cluster import DBSCAN
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest

from appliance.fleet import odd, places
from appliance.fleet.places import Fleet, day_before
from tests.fleet.judging import Tally, tally
from tests.fleet.synthetic import EFFECTS, OF_DISK, OF_MACHINE, Planted, make, plant

Unit = tuple[str, str]
Scores = dict[Unit, float]
_DAYS = 28
_WINDOW_RUNS = 20
_MOST_FALSE = 0.05


class Figures:
    """Of machines, or of disks: a row each, a column for each job and figure, and their types."""

    def __init__(self, rows: Iterable[tuple[str, str, str, str, float]]) -> None:
        held: dict[Unit, dict[str, float]] = {}
        types: dict[Unit, str] = {}
        for machine, member, machine_type, column, value in rows:
            held.setdefault((machine, member), {})[column] = value
            types[machine, member] = machine_type
        self.units = list(held)
        columns = sorted({column for values in held.values() for column in values})
        self.values = np.array([[held[unit][one] for one in columns] for unit in self.units])
        self.types = np.array([types[unit] for unit in self.units])

    def standardised(self, centre: Callable[..., np.ndarray], spread: Callable[..., np.ndarray]):
        """How many spreads each is from the centre of its type."""
        made = np.empty_like(self.values)
        for one in np.unique(self.types):
            own = self.values[self.types == one]
            away = own - centre(own, axis=0)
            made[self.types == one] = away / spread(own, axis=0)
        return made


def figures(fleet: Fleet) -> tuple[Figures, Figures]:
    """Of the machines and of their disks, in an order: a forest's samples depend on it."""
    since = f"valid AND day > '{day_before(fleet.present, _DAYS)}'"
    machines = fleet.all(
        "SELECT machine, '', machine_type, concat(job, ' ', figure), avg(value) FROM ("
        + " UNION ALL ".join(
            f"SELECT machine, machine_type, job, '{figure}' AS figure, {figure} AS value"
            f" FROM results WHERE member = '' AND {since}"
            for figure in ("iops", "p99_ns")
        )
        + ") GROUP BY machine, machine_type, job, figure ORDER BY ALL"
    )
    members = fleet.all(
        f"SELECT machine, member, machine_type, job, avg(await_ratio) FROM members WHERE {since}"
        " GROUP BY machine, member, machine_type, job ORDER BY ALL"
    )
    return Figures(machines), Figures(members)


def farthest(kinds: tuple[Figures, Figures], centre, spread) -> Scores:
    """Each unit's farthest figure."""
    machines, members = kinds
    made = np.abs(machines.standardised(centre, spread)).max(axis=1)
    slower = members.standardised(centre, spread).max(axis=1)
    return dict(zip(machines.units, made, strict=True)) | dict(
        zip(members.units, slower, strict=True)
    )


def three_sigma(kinds: tuple[Figures, Figures]) -> Scores:
    return farthest(kinds, np.mean, np.std)


def mad(kinds: tuple[Figures, Figures]) -> Scores:
    def deviation(own: np.ndarray, axis: int) -> np.ndarray:
        return np.median(np.abs(own - np.median(own, axis=axis)), axis=axis) / 0.6745

    return farthest(kinds, np.median, deviation)


def forest(kinds: tuple[Figures, Figures]) -> Scores:
    """Liu's anomaly score, between 0 and 1; contamination 'auto' is above 0.5."""
    made: Scores = {}
    for kind in kinds:
        beside = kind.standardised(np.mean, np.std)
        fitted = IsolationForest(random_state=0).fit(beside)
        scores = -fitted.score_samples(beside)
        for (machine, member), score, own in zip(kind.units, scores, beside, strict=True):
            if not member or own.mean() > 0:
                made[machine, member] = score
    return made


def highest(scores: Scores, planted: list[Planted]) -> set[Unit]:
    """As many machines and as many disks as have a fault: contamination as the truth is."""
    found: set[Unit] = set()
    slow = sum(len(one.members) for one in planted)
    for is_member, count in ((False, len(planted)), (True, slow)):
        own = {unit: score for unit, score in scores.items() if bool(unit[1]) == is_member}
        found |= set(sorted(own, key=lambda unit: -own[unit])[:count])
    return found


def perseus(fleet: Fleet) -> Scores:
    """Each drive's slowest window: the median slow-down there."""
    rows = fleet.database.execute(
        "SELECT machine, job, member, await_ms, iops FROM members JOIN ("
        "SELECT machine, run, job, iops FROM results WHERE member = '') AS stripe"
        f" USING (machine, run, job) WHERE day > '{day_before(fleet.present, _DAYS)}'"
        " ORDER BY machine, job, member, run"
    ).fetchnumpy()
    keys = np.char.add(rows["machine"].astype(str), rows["job"].astype(str))
    made: Scores = {}
    for part in np.split(np.arange(len(keys)), np.flatnonzero(keys[1:] != keys[:-1]) + 1):
        slow = _slow_downs(rows["iops"][part], rows["await_ms"][part])
        names = rows["member"][part]
        for member in np.unique(names.astype(str)):
            own = np.lib.stride_tricks.sliding_window_view(slow[names == member], _WINDOW_RUNS)
            unit = (str(rows["machine"][part[0]]), str(member))
            made[unit] = max(made.get(unit, 0.0), float(np.median(own, axis=1).max()))
    return made


def _slow_downs(throughput: np.ndarray, latency: np.ndarray) -> np.ndarray:
    x = (throughput - throughput.mean()) / throughput.std()
    both = np.column_stack((x, (latency - latency.mean()) / latency.std()))
    clusters = DBSCAN(eps=0.5, min_samples=10).fit_predict(PCA().fit_transform(both))
    found, sizes = np.unique(clusters[clusters >= 0], return_counts=True)
    usual = clusters == found[sizes.argmax()] if len(found) else np.ones(len(x), dtype=bool)
    terms = np.vander(x, 3)
    fitted, *_ = np.linalg.lstsq(terms[usual], latency[usual], rcond=None)
    freedom = usual.sum() - terms.shape[1]
    variance = ((latency[usual] - terms[usual] @ fitted) ** 2).sum() / freedom
    inverse = np.linalg.pinv(terms[usual].T @ terms[usual])
    leverage = np.einsum("ij,jk,ik->i", terms, inverse, terms)
    upper = terms @ fitted + student.ppf(0.9995, freedom) * np.sqrt(variance * (1 + leverage))
    return latency / upper


def above(scores: Scores, threshold: float) -> set[Unit]:
    return {unit for unit, score in scores.items() if score > threshold}


def told(scores: Scores, planted: list[Planted]) -> set[Unit]:
    """Most units of the highest scores of which at most 5 % are false."""
    ordered = sorted(scores, key=lambda unit: -scores[unit])
    right = {(one.machine, member) for one in planted for member in ("", *one.members)}
    best = false = 0
    for count, unit in enumerate(ordered, 1):
        false += unit not in right
        best = count if false <= _MOST_FALSE * count else best
    return set(ordered[:best])


def line(method: str, setting: str, judged: Tally) -> str:
    def recall(kinds: Iterable[str], effects: Iterable[float]) -> str:
        keys = [(kind, effect) for kind in kinds for effect in effects]
        found = sum(judged.found[key] for key in keys)
        return f"{100 * found / max(1, sum(judged.planted[key] for key in keys)):.0f} %"

    kinds = (*OF_DISK, *OF_MACHINE)
    cells = [
        f"{len(judged.false)} ({100 * judged.false_share:.1f} %)",
        *(recall(kinds, (effect,)) for effect in EFFECTS),
        *(recall(of, EFFECTS) for of in (OF_DISK, OF_MACHINE, kinds)),
    ]
    return f"| {method} | {setting} | {judged.named} | {' | '.join(cells)} |"


def lines(fleet: Fleet, planted: list[Planted]) -> Iterable[str]:
    heads = " | ".join(f"{100 * effect:g} %" for effect in EFFECTS)
    yield f"| method | setting | named | false | {heads} | disks | machines | all |"
    yield "|---" * (len(EFFECTS) + 7) + "|"
    ours = {(one.unit.machine, one.unit.member) for one in odd.find(fleet)}
    yield line("ours", "as shipped", tally(planted, ours))
    kinds = figures(fleet)
    methods: Mapping[str, tuple[Scores, str, float]] = {
        "3 sigma": (three_sigma(kinds), "3", 3.0),
        "MAD": (mad(kinds), "3.5", 3.5),
        "isolation forest": (forest(kinds), "auto", 0.5),
        "Perseus": (perseus(fleet), "slow-down 1", 1.0),
    }
    for method, (scores, setting, threshold) in methods.items():
        yield line(method, setting, tally(planted, above(scores, threshold)))
        if method == "isolation forest":
            yield line(method, "the true share", tally(planted, highest(scores, planted)))
        yield line(method, "by the answer", tally(planted, told(scores, planted)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path, help="made where it is not there")
    options.add_argument("--machines", type=int, default=1000)
    options.add_argument("--odd", type=int, default=120)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.folder.exists():
        make(given.folder, given.machines, given.odd, given.seed)
    began = time.monotonic()
    with places.open_fleet(str(given.folder)) as fleet:
        print("\n".join(lines(fleet, plant(given.machines, given.odd, given.seed))))
    print(f"\nseed {given.seed}, {math.ceil(time.monotonic() - began)} s")


if __name__ == "__main__":
    main()
