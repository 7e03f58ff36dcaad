"""An imported diary gathered into a report: every fio report in it with its verdicts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appliance import text
from appliance.figures import quantities
from appliance.model import ImportedResult
from appliance.report.page import (
    FactGroup,
    JobDetail,
    MemberShare,
    ReportDocument,
    Tone,
)
from appliance.report.result_rows import member_shares, row


def gather(
    judged: Sequence[ImportedResult],
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
        summary=_summary(judged, machine_type),
        notes=(),
        facts=_facts(judged, file, machine_type, imported_at),
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


def _summary(judged: Sequence[ImportedResult], machine_type: str) -> str:
    versions = _each(one.fio_version for one in judged)
    parts = [machine_type or "machine type not given", ", ".join(versions)]
    return ", ".join(part for part in parts if part)


def _facts(
    judged: Sequence[ImportedResult], file: str, machine_type: str, imported_at: float
) -> tuple[FactGroup, ...]:
    given = [
        ("File", file),
        ("Imported", text.moment(imported_at)),
        ("Machine type", machine_type or "not given"),
    ]
    found = [
        ("fio", ", ".join(_each(one.fio_version for one in judged))),
        ("Engines", ", ".join(_each(one.engine for one in judged))),
        ("Devices", ", ".join(_each(one.device for one in judged))),
        (
            "Members",
            ", ".join(_each(member for one in judged for member in one.members)),
        ),
    ]
    return tuple(
        FactGroup(title, tuple(one for one in pairs if one[1]))
        for title, pairs in (("Import", given), ("Found in it", found))
        if any(value for _, value in pairs)
    )


def _each(values: Iterable[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _where(one: ImportedResult) -> str:
    place = f"line {one.line}"
    if one.device:
        place += f", on {one.device}"
    if one.members and one.members != (one.device,):
        place += f" ({', '.join(one.members)})"
    return place


def _shares(one: ImportedResult) -> tuple[MemberShare, ...]:
    """What each member did, in the order of the report; none for a single disk."""
    found = quantities.member_io(one)
    return member_shares(found, one.direction) if len(found) > 1 else ()
