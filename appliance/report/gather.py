"""A run of ours and what history knows around it, gathered into a report. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from appliance import text
from appliance.figures import quantities
from appliance.figures.stripe_delivery import efficiencies
from appliance.model.layout_words import BETWEEN_VOLUMES, filesystem_words, stripe_words
from appliance.model.measurement import Measurement
from appliance.model.runs import EpochRecord, RunRecord, RunState
from appliance.model.slots import Detail
from appliance.report import timeline
from appliance.report.markup import clipped
from appliance.report.page import (
    NAME,
    FactGroup,
    JobDetail,
    Material,
    MemberShare,
    ReportDocument,
    Row,
    Timeline,
    Tone,
)
from appliance.report.result_rows import member_shares, result_rows, row, trends


def run_report(material: Material, *, written_at: float, version: str) -> ReportDocument:
    """The report of a run. ``written_at`` is now, in seconds since the epoch."""
    run, results = material.run, material.results
    comparable = tuple(
        one
        for one in material.others
        if one.run.id < run.id
        and one.run.epoch_id == run.epoch_id
        and one.run.time_factor == run.time_factor
        and one.results
    )
    rows = result_rows(results, material.normals)
    bands = timeline.bands_of(material, rows)
    tone, headline = _headline(run, rows)
    made = timeline.timeline(material, bands)
    details = tuple(
        timeline.detail(material, row, result, bands)
        for row, result in zip(rows, results, strict=True)
    )
    found = trends(rows, results, comparable, run=Detail(run, results))
    return ReportDocument(
        kind="run",
        title=f"{clipped(run.suite, NAME)}, run {run.id}",
        tone=tone,
        headline=headline,
        summary=_run_summary(material.run, material.epoch),
        notes=_notes(material),
        facts=_run_facts(material.run, material.epoch, material.host),
        rows=rows,
        gains=_gains(material),
        timeline=made,
        details=details,
        trends=found,
        history=_told(material),
        missing=_missing(material, made, details, has_trend=bool(found)),
        written_at=written_at,
        version=version,
    )


def _headline(run: RunRecord, rows: Sequence[Row]) -> tuple[Tone, str]:
    valid = sum(row.valid for row in rows)
    results = f"{len(rows)} result" + ("" if len(rows) == 1 else "s")
    done = len({row.number for row in rows})
    if run.state is RunState.SKIPPED:
        return Tone.CARE, "Skipped: nothing was measured"
    if run.state is RunState.RUNNING:
        return Tone.CARE, f"Still running: {done} of {run.job_count} jobs measured"
    if run.state in {RunState.ABORTED, RunState.FAILED}:
        word = "Aborted" if run.state is RunState.ABORTED else "Failed"
        if not rows:
            return Tone.BAD, f"{word} before anything was measured"
        return Tone.BAD, f"{word} after {done} of {run.job_count} jobs; {valid} of {results} valid"
    if not rows:
        return Tone.BAD, "Complete, and without any result"
    if valid == 0:
        return Tone.BAD, f"None of {results} can be believed" if len(rows) > 1 else (
            "The only result cannot be believed"
        )
    if valid < len(rows):
        return Tone.BAD, f"{len(rows) - valid} of {results} cannot be believed"
    if run.scaled:
        return Tone.CARE, f"{results}, none to be quoted: run times were scaled"
    if any(row.of.findings for row in rows):
        return Tone.CARE, f"{results}, all valid; read the findings"
    return Tone.GOOD, f"{results}, all valid"


def _notes(material: Material) -> tuple[str, ...]:
    run = material.run
    found = []
    if run.reason:
        found.append(f"The run {_ENDED.get(run.state, 'ended')}: {run.reason}")
    if run.scaled:
        found.append(f"The {run.scaled}.")
    found += run.notes
    later = [one.run for one in material.others if one.run.id > run.id]
    for one in later[-3:]:
        found.append(
            f"There is a later run {one.id}, {one.state.value}, {text.moment(one.started_at)}"
            + (f": {one.reason}" if one.reason else ".")
        )
    return tuple(found)


def _gains(material: Material) -> tuple[str, ...]:
    return tuple(
        f"{one.job}, {one.direction}: the stripe does {one.stripe_iops:,.0f} IOPS, its "
        f"{len(one.member_iops)} members alone {sum(one.member_iops.values()):,.0f} in sum: "
        f"{one.share * 100:.1f} %"
        for one in efficiencies(material.results, material.run.members)
    )


_ENDED = {
    RunState.SKIPPED: "was skipped",
    RunState.ABORTED: "was aborted",
    RunState.FAILED: "failed",
}


def _told(material: Material) -> tuple[str, ...]:
    """What became of the earlier runs, and why those that did not complete did not."""
    earlier = [one.run for one in material.others if one.run.id < material.run.id]
    if not earlier:
        return ()
    states = Counter(run.state for run in earlier)
    counted = ", ".join(f"{states[state]} {state.value}" for state in RunState if states.get(state))
    lines = [
        f"The last {'run' if len(earlier) == 1 else f'{len(earlier)} runs'} of this suite on this "
        "target before this one, since "
        f"{text.moment(earlier[0].started_at)}: {counted}."
    ]
    odd = [run for run in earlier if run.state is not RunState.COMPLETE]
    lines += [
        f"Run {run.id}, {text.moment(run.started_at)}, {run.state.value}"
        + (f": {run.reason}" if run.reason else "")
        for run in odd[-5:]
    ]
    if len(odd) > 5:
        lines.append(f"{len(odd) - 5} older ones that did not complete are not listed.")
    return tuple(lines)


def _missing(
    material: Material, timeline: Timeline | None, details: Sequence[JobDetail], *, has_trend: bool
) -> dict[str, str]:
    missing: dict[str, str] = {}
    if not material.run.device:
        why = "the block devices of the target are not known, so nothing was sampled"
        missing |= {"timeline": why, "members": why}
    if timeline is None:
        missing.setdefault("timeline", "no samples of this run are kept")
    if not any(detail.shares for detail in details):
        missing.setdefault("members", "there is one member, so nothing is to be compared")
    if not has_trend:
        missing["trend"] = (
            "there is no earlier run of this suite with these run times in these surroundings"
            if material.results
            else "this run measured nothing to compare"
        )
    return missing


# -------------------------------------------------------------------------------- an imported file


def import_report(
    judged: Sequence[Measurement],
    *,
    file: str,
    machine_type: str,
    imported_at: float,
    written_at: float,
    version: str,
) -> ReportDocument:
    """The report of one imported file. Times are seconds since the epoch."""
    rows = tuple(row(one, number, where=_where(one)) for number, one in enumerate(judged, 1))
    invalid = sum(not row.valid for row in rows)
    counted = f"{len(rows)} result" + ("" if len(rows) == 1 else "s")
    return ReportDocument(
        kind="import",
        title=f"Imported: {file}",
        tone=Tone.BAD if invalid else Tone.GOOD,
        headline=f"{invalid} of {counted} cannot be believed"
        if invalid
        else f"{counted}, all valid",
        summary=_import_summary(judged, machine_type),
        notes=(),
        facts=_import_facts(judged, file, machine_type, imported_at),
        rows=rows,
        gains=(),
        timeline=None,
        details=tuple(
            JobDetail(row, None, None, _shares(one)) for row, one in zip(rows, judged, strict=True)
        ),
        trends=(),
        history=(),
        missing={},
        written_at=written_at,
        version=version,
    )


def _import_summary(judged: Sequence[Measurement], machine_type: str) -> str:
    parts = [machine_type or "machine type not given", _each(one.fio_version for one in judged)]
    return ", ".join(part for part in parts if part)


def _import_facts(
    judged: Sequence[Measurement], file: str, machine_type: str, imported_at: float
) -> tuple[FactGroup, ...]:
    given = [
        ("File", file),
        ("Imported", text.moment(imported_at)),
        ("Machine type", machine_type or "not given"),
    ]
    found = [
        ("fio", _each(one.fio_version for one in judged)),
        ("Engines", _each(one.engine for one in judged)),
        ("Devices", _each(one.device for one in judged)),
        ("Members", _each(member for one in judged for member in one.members)),
    ]
    return _groups(("Import", given), ("Found in it", found))


def _groups(*groups: tuple[str, Iterable[tuple[str, str]]]) -> tuple[FactGroup, ...]:
    """What is not known is left out."""
    known = (
        (title, tuple((clipped(label, NAME), value) for label, value in pairs if value))
        for title, pairs in groups
    )
    return tuple(FactGroup(title, facts) for title, facts in known if facts)


def _each(values: Iterable[str]) -> str:
    return ", ".join(value for value in dict.fromkeys(values) if value)


def _where(one: Measurement) -> str:
    place = f"line {one.line}"
    if one.device:
        place += f", on {one.device}"
    if one.members and one.members != (one.device,):
        place += f" ({', '.join(one.members)})"
    return place


def _shares(one: Measurement) -> tuple[MemberShare, ...]:
    """What each member did, in the order of the report; none for a single disk."""
    found = quantities.member_io(one)
    return member_shares(found, one.direction) if len(found) > 1 else ()


# ------------------------------------------------------------------ machine, layout and conditions


_TARGETS = {
    "filesystem": "files in a directory",
    "raw-read": "the raw device, read only",
    "raw-write": "the raw device, overwritten",
}


def _run_summary(run: RunRecord, epoch: EpochRecord | None) -> str:
    """What was measured, in one line."""
    own = _own_volume(run, epoch)
    parts = [
        run.machine_type or "machine type not known",
        stripe_words(own["stripe"]) if own.get("stripe") else run.device,
        filesystem_words(own.get("filesystem", "")),
    ]
    return ", ".join(clipped(part, NAME) for part in parts if part)


def _run_facts(run: RunRecord, epoch: EpochRecord | None, host: str) -> tuple[FactGroup, ...]:
    """Everything that is recorded of the surroundings."""
    own = _own_volume(run, epoch)
    machine = [
        ("Type", run.machine_type or "not known"),
        ("Host", host),
        ("Kernel", own.get("kernel", "")),
        ("fio", run.fio_version or own.get("fio", "")),
        ("Engine", run.engine),
    ]
    layout = [
        ("Device", run.device or "not known"),
        ("Stripe", stripe_words(own.get("stripe", ""))),
        ("Filesystem", filesystem_words(own.get("filesystem", ""))),
        ("Mount options", own.get("mount_options", "")),
        *_member_facts(run, own.get("serials", "")),
    ]
    took = "" if run.ended_at is None else text.duration(run.ended_at - run.started_at)
    measured = [
        ("Suite", run.suite),
        ("State", run.state.value),
        ("Began", text.moment(run.started_at)),
        ("Took", took),
        ("Target", run.target),
        ("Target kind", _TARGETS.get(run.target_kind, run.target_kind)),
        ("Time factor", f"{run.time_factor:g}" if run.scaled else ""),
    ]
    return _groups(
        ("Machine", machine),
        ("Layout", layout),
        ("Run", measured),
        ("Conditions", run.conditions.items()),
        ("Epoch", _epoch_facts(epoch)),
    )


def _own_volume(run: RunRecord, epoch: EpochRecord | None) -> dict[str, str]:
    """The fingerprint, narrowed to the run's own volume if only one can be it."""
    if epoch is None:
        return {}
    found = dict(epoch.fingerprint)
    serials = found.get("serials", "").split(BETWEEN_VOLUMES)
    fitting = [
        index
        for index, each in enumerate(serials)
        if len(serials) > 1 and len(each.split(",")) == len(run.members)
    ]
    if len(fitting) == 1:
        for key in ("serials", "stripe", "filesystem", "mount_options"):
            parts = found.get(key, "").split(BETWEEN_VOLUMES)
            if len(parts) == len(serials):
                found[key] = parts[fitting[0]]
    return found


def _member_facts(run: RunRecord, serials: str) -> list[tuple[str, str]]:
    """Each member with its serial where they can be told to belong together."""
    known = serials.split(",") if serials else []
    if len(known) == len(run.members):
        return [
            (f"Member {slot}", f"{member}, serial {serial}" if serial else member)
            for slot, (member, serial) in enumerate(zip(run.members, known, strict=True))
        ]
    return [("Members", ", ".join(run.members)), ("Serials", serials)]


def _epoch_facts(epoch: EpochRecord | None) -> list[tuple[str, str]]:
    if epoch is None:
        return []
    return [
        ("Number", str(epoch.id)),
        ("Since", text.moment(epoch.opened_at)),
        *(
            (f"Changed: {key}", f"{before or 'none'} → {after or 'none'}")
            for key, (before, after) in epoch.changed.items()
        ),
    ]
