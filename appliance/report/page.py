"""What a report says, gathered and not yet written in any form. Pure values.

``gather`` makes it of a run or an imported file; ``html`` and ``markdown`` write it. Texts in it
are as they were found: the writers escape them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from appliance.drift.detection.normal import Baseline
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import EpochRecord, Mean, RunRecord
from appliance.model.slots import Detail, Slot
from appliance.report.markup import clipped

# A name in a heading, a table or a chart.
NAME = 80


class Tone(StrEnum):
    """How the headline is meant; a glyph and a word go with each, colour is an extra."""

    GOOD = "good"
    CARE = "care"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class FactGroup:
    """``facts`` are (label, value)."""

    title: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Published:
    """A result beside a published limit. ``percent`` is ``None`` where the job cannot reach it.

    ``limit`` is the limit in words; ``basis`` how it comes about, ``source`` where it is from.
    ``corrected`` says that the percentage is of the corrected figure, ``verb`` who says the
    limit: ``published``, or ``measured by others``, which is not a limit.
    """

    percent: float | None
    limit: str
    basis: str = ""
    source: str = ""
    corrected: bool = False
    verb: str = "published"


@dataclass(frozen=True, slots=True)
class BesideNormal:
    """A result's ``value`` (``None`` if it may not be compared: not valid) beside what drift takes
    for ``normal`` in its series, ``None`` while there are too few valid ``runs`` in the epoch.
    """

    runs: int = 0
    normal: Baseline | None = None
    value: float | None = None

    @property
    def change_percent(self) -> float | None:
        """The value against the median."""
        if self.value is None or self.normal is None or not self.normal.median:
            return None
        return 100 * (self.value / self.normal.median - 1)

    @property
    def position(self) -> str:
        """``within``, ``below`` or ``above`` what is normal; empty where it is not known."""
        if self.value is None or self.normal is None:
            return ""
        return ("within", "above", "below")[self.normal.side(self.value)]


@dataclass(frozen=True, slots=True)
class Row:
    """One job in one direction.

    ``number`` is the job's, from 1: charts and tables name jobs by it. ``of`` is the result, which
    ``job`` names with its pass. ``asked`` is what was asked for in words, ``where`` what was
    measured if that is not the run's own target. ``percentiles`` are (percent, ns), ascending;
    ``bins`` (ns, I/Os), ascending, may be empty.
    ``corrected_iops`` and ``corrected_bytes_per_s`` are probably true where a finding knows it.
    ``by_the_disks`` is how long the disks themselves took, in words.
    """

    number: int
    job: str
    of: Measurement
    asked: str
    percentiles: tuple[tuple[float, int], ...]
    where: str = ""
    bins: tuple[tuple[int, int], ...] = ()
    corrected_iops: float | None = None
    corrected_bytes_per_s: float | None = None
    published: tuple[Published, ...] = ()
    baseline: BesideNormal | None = None
    by_the_disks: str = ""

    @property
    def valid(self) -> bool:
        return self.of.valid

    @property
    def label(self) -> str:
        """Number and job, with the direction where the name alone may not tell."""
        named, way = clipped(self.job, NAME), self.of.direction
        return f"{self.number} {named}" + ("" if way in named else f" {clipped(way, NAME)}")

    def percentile_ns(self, percent: float) -> int | None:
        return next((ns for at, ns in self.percentiles if abs(at - percent) < 1e-9), None)


@dataclass(frozen=True, slots=True)
class Point:
    """A rate at ``at_s`` seconds from the beginning; ``low`` and ``high`` are the lowest and
    highest sample that went into ``mean``.
    """

    at_s: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """Bytes a second over time. A gap in the samples ends one segment and begins the next."""

    name: str
    segments: tuple[tuple[Point, ...], ...]

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(point for segment in self.segments for point in segment)


@dataclass(frozen=True, slots=True)
class Band:
    """When a job ran, in seconds from the run's beginning."""

    number: int
    job: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """``step_s`` is what one point stands for, ``sample_s`` what one sample does."""

    series: tuple[Series, ...]
    bands: tuple[Band, ...]
    end_s: float
    step_s: float
    sample_s: float

    @property
    def is_downsampled(self) -> bool:
        return self.step_s > self.sample_s * 1.5


@dataclass(frozen=True, slots=True)
class MemberShare:
    """What one member did for one row. ``size_bytes`` is ``None`` where only I/Os are known,
    ``await_ms`` where it did none.
    """

    member: str
    size_bytes: int | None
    ios: int
    await_ms: float | None


@dataclass(frozen=True, slots=True)
class JobDetail:
    """One row's charts: the stripe and its members over time, and the members' shares."""

    row: Row
    whole: Timeline | None
    members: Timeline | None
    shares: tuple[MemberShare, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """One row's IOPS in earlier runs (oldest first) and in this one, which is last."""

    number: int
    label: str
    points: tuple[Slot, ...]
    baseline: BesideNormal


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """Everything that is written. ``kind`` is ``run`` or ``import``.

    ``summary`` is what was measured in one line, ``notes`` what limits its meaning, ``gains``
    how fast the stripe is beside its members measured alone, ``history`` what became of the
    earlier runs. ``missing`` maps a part that is not there to the reason in a sentence:
    ``timeline``, ``members``, ``trend``.
    """

    kind: str
    title: str
    tone: Tone
    headline: str
    summary: str
    notes: tuple[str, ...]
    facts: tuple[FactGroup, ...]
    rows: tuple[Row, ...]
    gains: tuple[str, ...]
    timeline: Timeline | None
    details: tuple[JobDetail, ...]
    trends: tuple[Trend, ...]
    history: tuple[str, ...]
    missing: dict[str, str]
    written_at: float
    version: str


# Job, direction and member, which name a series of one suite on one target.
Normals = Mapping[tuple[str, str, str], BesideNormal]


@dataclass(frozen=True, slots=True)
class Material:
    """What history knows of a run.

    ``rates`` are the samples in order of time, ``ended_at`` says for each of ``results`` when
    it was written (empty: not known), ``others`` are the other runs of this suite on
    this target, oldest first. ``host`` is empty where the history does not name it. ``normals``
    is what drift takes for normal in the run's epoch.
    """

    run: RunRecord
    results: tuple[JobResult, ...]
    epoch: EpochRecord | None = None
    host: str = ""
    rates: tuple[Mean, ...] = ()
    ended_at: tuple[float, ...] = ()
    others: tuple[Detail, ...] = ()
    normals: Normals = field(default_factory=dict)
