"""An imported diary gathered into a report: every fio report in it with its verdicts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appliance import text
from appliance.clouds import capability
from appliance.figures import quantities
from appliance.model import DeviceIo, Evidence, Judged
from appliance.report.page import (
    Fact,
    FactGroup,
    JobDetail,
    MemberShare,
    Published,
    ReportDocument,
    Row,
    Tone,
)
from appliance.report.result_rows import access, against, percentiles


def gather(
    judged: Sequence[Judged],
    *,
    file: str,
    machine_type: str,
    imported_at: float,
    written_at: float,
    version: str,
) -> ReportDocument:
    """The report of one imported file. Times are seconds since the epoch."""
    rows = tuple(_row(number, one) for number, one in enumerate(judged, 1))
    invalid = sum(not row.valid for row in rows)
    counted = f"{len(rows)} result" + ("" if len(rows) == 1 else "s")
    return ReportDocument(
        kind="import",
        title=f"Imported: {file}",
        tone=Tone.BAD if invalid else Tone.GOOD,
        headline=f"{invalid} of {counted} cannot be believed"
        if invalid
        else f"{counted}, all valid",
        summary=_summary(judged, machine_type),
        notes=(),
        facts=_facts(judged, file, machine_type, imported_at),
        rows=rows,
        gains=(),
        timeline=None,
        details=tuple(
            JobDetail(row, None, None, _shares(one.evidence))
            for row, one in zip(rows, judged, strict=True)
        ),
        trends=(),
        history=(),
        missing={},
        written_at=written_at,
        version=version,
    )


def _summary(judged: Sequence[Judged], machine_type: str) -> str:
    versions = _each(one.evidence.fio_version for one in judged)
    parts = [machine_type or "machine type not given", ", ".join(versions)]
    return ", ".join(part for part in parts if part)


def _facts(
    judged: Sequence[Judged], file: str, machine_type: str, imported_at: float
) -> tuple[FactGroup, ...]:
    given = [
        ("File", file),
        ("Imported", text.moment(imported_at)),
        ("Machine type", machine_type or "not given"),
    ]
    found = [
        ("fio", ", ".join(_each(one.evidence.fio_version for one in judged))),
        ("Engines", ", ".join(_each(one.evidence.engine for one in judged))),
        ("Devices", ", ".join(_each(one.evidence.device for one in judged))),
        (
            "Members",
            ", ".join(_each(member for one in judged for member in one.evidence.members)),
        ),
    ]
    return tuple(
        FactGroup(title, tuple(Fact(label, value) for label, value in pairs if value))
        for title, pairs in (("Import", given), ("Found in it", found))
        if any(value for _, value in pairs)
    )


def _each(values: Iterable[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _row(number: int, one: Judged) -> Row:
    evidence = one.evidence
    corrected = quantities.corrected_iops(one)
    block = evidence.block_size_bytes
    return Row(
        number=number,
        job=evidence.job,
        direction=evidence.direction,
        asked=_asked(evidence),
        where=_where(one),
        iops=evidence.iops,
        bytes_per_s=evidence.bandwidth_bytes,
        latency_mean_ns=evidence.latency_mean_ns,
        percentiles=percentiles(evidence.percentiles_ns or {}),
        findings=one.findings,
        valid=one.valid,
        coverage=quantities.coverage_of(evidence),
        corrected_iops=corrected,
        corrected_bytes_per_s=corrected * block if corrected is not None and block else None,
        published=_published(one, corrected),
    )


def _asked(evidence: Evidence) -> str:
    parts = [access(evidence.rw, evidence.direction)]
    if evidence.block_size_bytes:
        parts.append(text.size(evidence.block_size_bytes))
    if evidence.jobs and evidence.iodepth:
        parts.append(f"{evidence.jobs} × {evidence.iodepth}")
    if evidence.engine:
        parts.append(evidence.engine)
    return ", ".join(part for part in parts if part)


def _where(one: Judged) -> str:
    evidence = one.evidence
    place = f"line {one.line}"
    if evidence.device:
        place += f", on {evidence.device}"
    if evidence.members and evidence.members != (evidence.device,):
        place += f" ({', '.join(evidence.members)})"
    return place


def _published(one: Judged, corrected: float | None) -> tuple[Published, ...]:
    evidence, known = one.evidence, one.evidence.capability
    if known is None:
        return ()
    by_others = [
        f"{known.measured_iops:,.0f} IOPS" if known.measured_iops else "",
        text.bandwidth(known.measured_bytes_per_s) if known.measured_bytes_per_s else "",
    ]
    return (
        *against(
            capability.percent_of_published(evidence)
            if one.valid or corrected is not None
            else None,
            iops=evidence.iops,
            bytes_per_s=evidence.bandwidth_bytes,
            limit_iops=known.iops,
            limit_bytes_per_s=known.bytes_per_s,
            corrected_iops=None if one.valid else corrected,
            basis=known.basis,
            source=known.source,
        ),
        *(
            Published(None, words, source=known.measured_source, verb="measured by others")
            for words in by_others
            if words
        ),
    )


def _shares(evidence: Evidence) -> tuple[MemberShare, ...]:
    """What each member did, in the order of the report; none for a single disk."""
    found = quantities.member_io(evidence)
    return tuple(_share(did, evidence.direction) for did in found) if len(found) > 1 else ()


def _share(did: DeviceIo, direction: str) -> MemberShare:
    ios, ticks_ms = quantities.ios(did, direction), quantities.ticks_ms(did, direction)
    return MemberShare(
        member=did.device,
        size_bytes=quantities.io_bytes(did, direction),
        ios=ios,
        await_ms=ticks_ms / ios if ticks_ms is not None and ios else None,
    )
