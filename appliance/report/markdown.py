"""A report as Markdown for a ticket that takes no attachments: the same, without charts. Pure.

What comes from disks and files cannot make markup: every character that Markdown (and the
HTML and formulas that some trackers allow in it) could take for some is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from appliance import text as plain
from appliance.report import figure_words
from appliance.report.markup import clipped
from appliance.report.page import JobDetail, ReportDocument, Row, Series

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~$#@])")
# At its beginning a text could become a heading, a list, a quote or a rule.
_LEADING = re.compile(r"^(\s*\d*)(?:(?<!\d)([-+=])|(?<=\d)([.)])(?=\s|$))")
# What trackers make into links without being asked.
_LINK = re.compile(r"(?i)(:)(?=//)|(?<=\bwww)(\.)")
_BARS = "▁▂▃▄▅▆▇█"
_SPARK_POINTS = 60


def escaped(found: str) -> str:
    """``found`` on one line, as text and nothing else."""
    safe = _SPECIAL.sub(r"\\\1", clipped(found))
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _LINK.sub(lambda match: f"\\{match[0]}", safe)
    return _LEADING.sub(lambda match: f"{match[1]}\\{match[2] or match[3]}", safe)


def text(report: ReportDocument) -> str:
    """The whole report."""
    parts = [
        f"# Stripewright report: {escaped(report.title)}",
        f"**{escaped(report.headline)}**",
        escaped(report.summary),
        _bullets(f"**Note:** {escaped(note)}" for note in report.notes),
        "## Results",
        _results(report),
        *_findings(report.rows),
        "## What was measured",
        *(
            f"**{escaped(group.title)}**\n\n"
            + _bullets(f"{escaped(label)}: {escaped(value)}" for label, value in group.facts)
            for group in report.facts
        ),
        *_throughput(report),
        *_members(report.details),
        *_earlier(report),
        *_advice(report.rows),
        f"Written {plain.moment(report.written_at)} by Stripewright {escaped(report.version)} "
        "from its history. Times are UTC.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are escaped already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _results(report: ReportDocument) -> str:
    if not report.rows:
        return "There are none."
    head = ["Job", "Asked", "IOPS", "Bandwidth", "Mean", "p50", "p99", "p99.9", "Coverage"]
    head += ["Published", *(["Earlier runs"] if report.kind == "run" else []), "Verdict"]
    made = _table(head, [_result(row, is_run=report.kind == "run") for row in report.rows])
    sources = figure_words.sources(report.rows)
    if sources:
        made += "\n\nPublished figures:\n\n" + _bullets(escaped(one) for one in sources)
    if report.gains:
        made += "\n\nThe stripe and its members:\n\n" + _bullets(map(escaped, report.gains))
    if any(not row.valid for row in report.rows):
        made += "\n\nA figure that is struck out is invalid: do not quote it."
    return made


def _result(row: Row, *, is_run: bool) -> list[str]:
    of, corrected = row.of, (row.corrected_iops, row.corrected_bytes_per_s)
    glyph, word, _ = figure_words.verdict(row)
    codes = ", ".join(figure_words.codes(row.of.findings))
    cells = [
        escaped(row.label),
        escaped("; ".join(part for part in (row.asked, row.where) if part)),
        _figure(row, figure_words.iops(of.iops), corrected[0] and figure_words.iops(corrected[0])),
        _figure(
            row,
            figure_words.bandwidth(of.bandwidth_bytes),
            corrected[1] and figure_words.bandwidth(corrected[1]),
        ),
        _figure(row, figure_words.latency(of.latency_mean_ns), None),
        *(
            _figure(row, figure_words.latency(row.percentile_ns(p)), None)
            for p in (50.0, 99.0, 99.9)
        ),
        figure_words.coverage(row) + (f"; {escaped(row.by_the_disks)}" if row.by_the_disks else ""),
        escaped("; ".join(figure_words.published(one) for one in row.published))
        or figure_words.UNKNOWN,
    ]
    if is_run:
        cells.append(_baseline(row))
    return [*cells, f"{glyph} {word}" + (f" ({escaped(codes)})" if codes else "")]


def _baseline(row: Row) -> str:
    if row.baseline is None:
        return figure_words.UNKNOWN
    return "; ".join(part for part in figure_words.baseline(row.baseline) if part)


def _figure(row: Row, shown: str, corrected: str | float | None) -> str:
    if row.valid or shown == figure_words.UNKNOWN:
        return shown
    return f"~~{shown}~~ " + (f"**{corrected}** probably true" if corrected else "invalid")


def _findings(rows: Sequence[Row]) -> list[str]:
    lines = [
        f"**{escaped(row.label)}**: {escaped(finding.code)} ({finding.severity}): "
        f"{escaped(finding.message)}"
        for row in rows
        for finding in row.of.findings
    ]
    return ["## Findings", _bullets(lines)] if lines else []


def _throughput(report: ReportDocument) -> list[str]:
    one = report.timeline
    if one is None:
        reason = report.missing.get("timeline")
        return ["## Throughput over time", f"Not shown: {escaped(reason)}."] if reason else []
    lines = [
        f"{each.name} `{sparkline(each)}` up to "
        f"{plain.bandwidth(max(point.high for point in each.points))}"
        for each in one.series
        if each.points
    ]
    made = ["## Throughput over time", f"{figure_words.sampled(one)} From 0 to the highest mean:"]
    made.append(_bullets(lines))
    if phases := figure_words.phases(one):
        made.append(
            _table(
                ("Job", "From", "To", "Read (mean)", "Written (mean)"),
                [(escaped(name), *rest) for name, *rest in phases],
            )
        )
    return made


def sparkline(series: Series) -> str:
    """At most sixty bars from zero to the highest mean, each the mean of its points."""
    values = [point.mean for point in series.points]
    size = -(-len(values) // _SPARK_POINTS)
    means = [
        sum(values[start : start + size]) / len(values[start : start + size])
        for start in range(0, len(values), size)
    ]
    highest = max(means)
    if highest <= 0:
        return _BARS[0] * len(means)
    return "".join(_BARS[min(7, int(8 * mean / highest))] for mean in means)


def _members(details: Sequence[JobDetail]) -> list[str]:
    rows = [
        (escaped(detail.row.label), escaped(member), *rest)
        for detail in details
        for member, *rest in figure_words.members(detail)
    ]
    return ["## Members", _table(("Job", "Member", "Bytes", "I/Os", "Await"), rows)] if rows else []


def _earlier(report: ReportDocument) -> list[str]:
    if report.kind != "run":
        return []
    made = ["## Earlier runs", _bullets(escaped(line) for line in report.history)]
    if not report.trends:
        return [*made, f"No trend: {escaped(report.missing.get('trend', ''))}."]
    lines = [
        f"{escaped(one.label)}: "
        + ", ".join(
            figure_words.iops(point.value)
            if point.valid
            else f"~~{figure_words.iops(point.value)}~~"
            for point in one.points[-8:]
        )
        + f" IOPS (the last is this run). {figure_words.trend(one)}"
        for one in report.trends
    ]
    return [*made, _bullets(lines)]


def _advice(rows: Sequence[Row]) -> list[str]:
    lines = [
        f"**{one.code}**: {one.title}. {one.means} *What to do:* {one.todo}"
        for one in figure_words.advice(rows)
    ]
    return ["## What the codes mean", _bullets(lines)] if lines else []
