"""A report with its surroundings -> a result for each job and direction. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from appliance.clouds import capability
from appliance.figures.quantities import MIXED
from appliance.fio_import import device_names as places
from appliance.fio_import import draft as exact
from appliance.fio_import import units_printed
from appliance.fio_import.context import Surroundings
from appliance.fio_import.device_names import Devices, Expected, Places
from appliance.fio_import.draft import Definition, Figures, Report, Section
from appliance.fio_import.options import Asked, Options
from appliance.model.measurement import DeviceIo, Measurement

# What a pattern's directions are: a report of another direction is not of that command.
_OPPOSITE = {"read": ("write", "randwrite"), "write": ("read", "randread")}
_NOT_IN_JSON = frozenset({"time_based", "filename", "directory"})
_DEFAULT_BLOCK_BYTES = 4096
_DEFAULT_ENGINES = frozenset({"", "psync", "sync", "windowsaio", "posixaio", "solarisaio"})
_MERGED_TOLERANCE = 1.05
# Directions of a mixed job end together.
_TOGETHER = 0.95
_MORE_THAN_ONE = 1.5


@dataclass(frozen=True, slots=True)
class Item:
    """One report where it stands. ``options`` are fio's own words (JSON), if it said any.

    ``told_again``: the run was told in steps (``--status-interval``), and this is the latest.
    """

    report: Report
    surroundings: Surroundings
    options: Asked | None = None
    told_again: bool = False


def results_of(item: Item, known: Places, *, file: str, machine_type: str) -> Iterator[Measurement]:
    """Every result, not yet judged. ``machine_type`` overrides what the text says."""
    report = item.report
    machine = machine_type or item.surroundings.machine_type
    sections = report.sections or _from_summaries(report)
    totals = places.totals(sections)
    groups = Counter(section.group for section in report.sections)
    part = _is_part(report, sections)
    for section in sections:
        options = _options(item, section)
        target = places.target_of(options)
        devices = places.devices_of(report, item.surroundings, target)
        line = report.line if len(sections) == 1 else section.line
        expected = known.expected(devices, item.surroundings, target, line)
        io = devices.io if not part else ()
        if len(sections) > 1:
            io = places.share(io, section, totals) if totals else ()
        alone = groups[section.group] == 1 and not part
        job = _Job(
            file, line, item, section, options, target, devices, io, expected, machine, alone
        )
        for figures in section.directions.values() or _nothing_done(job):
            yield _result(job, figures)


@dataclass(frozen=True, slots=True)
class _Job:
    file: str
    line: int
    item: Item
    section: Section
    options: Options
    target: str
    devices: Devices
    io: tuple[DeviceIo, ...]
    expected: Expected
    machine_type: str
    alone: bool

    @property
    def definition(self) -> Definition | None:
        known = self.item.report.definitions
        return known.get(self.section.name) or (
            next(iter(known.values())) if len(known) == 1 and not self.section.name else None
        )

    @property
    def rw(self) -> str:
        definition = self.definition
        return definition.rw if definition else self.options.get("rw").split(":")[0]


def _result(job: _Job, figures: Figures) -> Measurement:
    report, section, direction = job.item.report, job.section, figures.direction
    total_ios = section.total_ios.get(direction)
    block = exact.block_size(figures, total_ios, job.definition, job.options)
    iops = exact.iops(figures, total_ios)
    bandwidth = exact.bandwidth(figures, total_ios, block)
    # The group's line, where the group is this one section: the same figure twice.
    group = report.summaries.get((section.group, direction)) if job.alone else None
    printed_bandwidth = (group.bandwidth_bytes if group else None) or bandwidth.printed
    amount = exact.io_bytes(figures, total_ios, block)
    opposite = _opposite(job, direction)
    other = _other(job, direction, opposite)
    least_ns = exact.least_latency_ns(figures)
    iodepth = exact.iodepth(section, job.definition, job.options)
    workers = _workers(job, iodepth)
    surroundings = job.item.surroundings
    return Measurement(
        file=job.file,
        line=job.line,
        job=section.name,
        direction=direction,
        rw=job.rw,
        engine=(job.definition.engine if job.definition else "") or job.options.get("ioengine"),
        fio_version=report.version or surroundings.version,
        direct=exact.direct(job.options),
        block_size_bytes=block,
        jobs=workers,
        iodepth=iodepth,
        iops=iops.value,
        printed_iops=iops.printed.value if iops.printed else None,
        printed_iops_error=iops.printed.error if iops.printed else 0.0,
        bandwidth_bytes=bandwidth.value,
        printed_bandwidth_bytes=printed_bandwidth.value if printed_bandwidth else None,
        printed_bandwidth_error_bytes=printed_bandwidth.error if printed_bandwidth else 0.0,
        io_bytes=None if amount is None else round(amount),
        total_ios=total_ios,
        runtime_ms=figures.runtime_ms,
        runtime_asked_ms=None
        if _verifies(job, direction)
        else exact.runtime_asked_ms(job.options, section, workers, verifies=_verifies(job, "read")),
        ramp_ms=exact.ramp_ms(job.options),
        think_time_ms=exact.think_time_ms(job.options),
        paced_by=exact.paced_by(job.options),
        latency_mean_ns=exact.mean_latency_ns(figures),
        latency_min_ns=None if least_ns is None else round(least_ns),
        submit_mean_ns=figures.latency_ns.get("slat"),
        percentiles_ns=exact.percentiles_ns(figures),
        errors=section.errors,
        ended=report.ended,
        truncated=report.cut,
        cpu_percent=section.cpu_percent,
        sync_ios=section.sync_ios,
        synced=exact.synced(job.options, section),
        device=job.devices.device,
        members=job.devices.members,
        device_io=() if direction == "mixed" else job.io,
        target=job.target,
        expected=job.expected.devices,
        expected_why=job.expected.why,
        other_direction_iops=_other_iops(job, opposite, other),
        other_direction_latency_mean_ns=None if other is None else exact.mean_latency_ns(other),
        machine_type=job.machine_type,
        capability=capability.published(
            job.machine_type,
            kind=places.kind_of(job.devices, surroundings, job.machine_type),
            member_count=len(job.devices.members) or surroundings.volume_count,
            direction=direction,
            block_size_bytes=block,
            rw=job.rw,
            volume=surroundings.volume,
        ),
    )


def _opposite(job: _Job, direction: str) -> str:
    """The other direction of a mixed job; empty where there is none."""
    pair = {"trim", "write"} if "trimwrite" in job.rw else {"read", "write"}
    return next(iter(pair - {direction})) if direction in pair else ""


def _other(job: _Job, direction: str, opposite: str) -> Figures | None:
    """A mixed job's figures of it. A job that writes reads only to verify, afterwards."""
    one, other = (job.section.directions.get(name) for name in (direction, opposite))
    if job.rw or one is None or other is None:
        return other if not job.rw or job.rw in MIXED else None
    ran = sorted((one.runtime_ms or 0, other.runtime_ms or 0))
    return other if ran[0] >= _TOGETHER * ran[1] else None  # not one after the other


def _verifies(job: _Job, direction: str) -> bool:
    """Whether these are reads of a job that writes: they take as long as they take."""
    return direction == "read" and "write" in job.rw and job.rw not in MIXED


def _other_iops(job: _Job, opposite: str, other: Figures | None) -> float | None:
    """0.0 where the report says that there were none."""
    ios = job.section.total_ios.get(opposite)
    if other is not None:
        return exact.iops(other, ios).value
    return 0.0 if ios == 0 else None


def _workers(job: _Job, iodepth: int | None) -> int | None:
    """As the report counts them. JSON does not, where differently named jobs were merged."""
    workers = job.section.workers
    in_flight = _in_flight(job)
    if job.item.report.kind == "json" and workers in (None, 1) and in_flight and iodepth:
        return None if in_flight > iodepth * _MERGED_TOLERANCE else 1
    if workers is None and not job.item.report.sections:
        return None
    if workers is None and job.options.knows("numjobs"):
        return units_printed.whole(job.options.get("numjobs", "1"))
    return workers


def _in_flight(job: _Job) -> float:
    """By Little's law, reads and writes of a mixed job together; 0 where nothing says it."""
    section = job.section
    each = [
        (exact.iops(one, section.total_ios.get(one.direction)).value, exact.mean_latency_ns(one))
        for one in section.directions.values()
    ]
    all_of_them = [(iops or 0.0) * (latency_ns or 0.0) / 1e9 for iops, latency_ns in each]
    return sum(all_of_them) if not job.rw or job.rw in MIXED else max(all_of_them, default=0.0)


def _is_part(report: Report, sections: Sequence[Section]) -> bool:
    """Whether the devices and groups are of more workers than the sections that were pasted."""
    seen = [section.workers for section in sections]
    if report.workers and None not in seen:
        return sum(one or 0 for one in seen) < report.workers
    # A group that did twice as much has another job.
    for (group, direction), said in report.summaries.items():
        amounts = [
            figures.io_bytes
            for section in sections
            if section.group == group and (figures := section.directions.get(direction))
        ]
        known = [one.high for one in amounts if one is not None]
        least = said.io_bytes.low if said.io_bytes is not None else 0.0
        if known and len(known) == len(amounts) and least > _MORE_THAN_ONE * sum(known):
            return True
    return False


# --------------------------------------------------------------------------- what was asked


def _options(item: Item, section: Section) -> Options:
    """From fio's own words, else from the command line and job file before the report."""
    if item.options is not None:
        fio_says = item.options.of(section.name)
        if fio_says.said:
            # All but those without a value, and in old versions those before the first job.
            command = item.surroundings.command
            typed = command.of(section.name) if command is not None else Options()
            names = _NOT_IN_JSON & typed.said.keys()
            return fio_says.over(Options({name: typed.get(name) for name in names}))
    return _from_text(item, section)


def _from_text(item: Item, section: Section) -> Options:
    around, report = item.surroundings, item.report
    command, job_file = around.command, around.job_file
    before = around.commands.get(section.name)
    options = Options()
    from_file = command is None or bool(command.job_file)
    if from_file and job_file is not None:
        # A file of other jobs says nothing of these. A client's sum has no job's name.
        only = command is not None and section.name == "All clients" and len(job_file.jobs) == 1
        if section.name in job_file.jobs or only:
            options = job_file.of("" if only else section.name)
    if command is not None and command.knows(section.name):
        given = command.of(section.name)
        both = given.over(options) if options.said else given
        options = replace(both, whole=True) if options.whole and not given.whole else both
    elif before is not None and not options.said:
        # The same job once more, as far as the report shows.
        options = before.of(section.name)
        asked = units_printed.whole(options.get("numjobs", "1"))
        if section.workers is not None and section.workers not in (1, asked):
            return Options()
    if not _fits(options, report, section):
        return Options()
    if options.whole and not _explains(options, report, section):
        return replace(options, whole=False)
    return options


def _explains(options: Options, report: Report, section: Section) -> bool:
    """Whether all that fio printed of the job is asked for in ``options`` or its default: if
    not, there were options that are not among them.
    """
    definition = report.definitions.get(section.name)
    depth = section.depth if definition is None else definition.iodepth
    if depth not in (None, 1) and not options.get("iodepth"):
        return False
    if definition is None:
        return True
    sizes = set(definition.block_size_bytes.values()) - {_DEFAULT_BLOCK_BYTES}
    block = any(options.get(name) for name in ("bs", "bsrange", "bssplit", "blocksize_range"))
    return (
        (bool(options.get("rw")) or definition.rw == "read")
        and (bool(options.get("ioengine")) or definition.engine in _DEFAULT_ENGINES)
        and (block or not sizes)
    )


def _fits(options: Options, report: Report, section: Section) -> bool:
    """Whether the report can be of these options: pattern, block, engine and depth as fio
    read them.
    """
    rw = options.get("rw").split(":")[0]
    if any(rw in _OPPOSITE.get(direction, ()) for direction in section.directions):
        # Reads of a job that writes: it verifies.
        return "write" in rw and "write" in section.directions
    definition = report.definitions.get(section.name)
    if definition is None:
        depth = units_printed.whole(options.get("iodepth"))
        return not depth or section.depth in (None, depth)
    if rw and {rw, definition.rw} not in ({rw}, {"rw", "readwrite"}):
        return False
    asked = units_printed.option_size(options.get("bs"))
    printed = set(definition.block_size_bytes.values())
    if asked is not None and printed and asked not in printed:
        return False
    depth, engine = units_printed.whole(options.get("iodepth")), options.get("ioengine")
    return not any(
        said and printed and said != printed
        for said, printed in ((depth, definition.iodepth), (engine, definition.engine))
    )


# --------------------------------------------------------------------------- odd reports


def _from_summaries(report: Report) -> list[Section]:
    """A report of which only the groups' lines are left: each group as one job."""
    names = list(report.definitions)
    sections: dict[int, Section] = {}
    for (group, direction), figures in report.summaries.items():
        name = names[0] if len(names) == 1 else ""
        section = sections.setdefault(group, Section(name, figures.line, group))
        section.directions[direction] = figures
    return list(sections.values())


def _nothing_done(job: _Job) -> tuple[Figures, ...]:
    """A job that ended without any I/O is a result, in the direction that was asked for; the
    first line of a job alone, out of a report, is no result.
    """
    section = job.section
    direction = "read" if "read" in job.rw or job.rw in MIXED else "write" if job.rw else ""
    if not section.whole and not section.errors and job.item.report.kind != "json":
        return ()
    section.total_ios.setdefault(direction, 0)
    return (Figures(direction, section.line),)
