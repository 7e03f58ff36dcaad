"""The chapters of the page that are charts, each with its figures as a table. Pure."""

from __future__ import annotations

from appliance import text
from appliance.report import charts, distributions, figure_words, markup, svg
from appliance.report.markup import Markup, tag
from appliance.report.page import JobDetail, ReportDocument, Trend

# A page with a chart for each of thousands of imported reports would open in no browser.
MOST_JOBS = 64


def timeline(report: ReportDocument) -> Markup:
    title = "Throughput over time"
    if report.timeline is None:
        return markup.absent(title, report.missing.get("timeline"))
    one = report.timeline
    caption = f"Bytes a second of the measured device. {figure_words.sampled(one)}"
    if not one.bands:
        caption += " When each job ran is not known."
    phases = figure_words.phases(one)
    table = (
        markup.data("Throughput", ("Job", "From", "To", "Read (mean)", "Written (mean)"), phases)
        if phases
        else (
            markup.data(
                "Throughput", ("What", "Mean", "Lowest", "Highest"), figure_words.ranges(one)
            )
        )
    )
    return markup.section(
        title,
        markup.figure((charts.timeline(one, svg.WIDE), charts.timeline(one, svg.NARROW)), caption),
        table,
    )


def latency(report: ReportDocument) -> Markup:
    rows = report.rows[:MOST_JOBS]
    wide = distributions.latency_drawings(rows, svg.WIDE)
    if not wide:
        return Markup()
    narrow = distributions.latency_drawings(rows, svg.NARROW)
    used = [p for p in figure_words.PERCENTILES if any(row.percentile_ns(p) for row in rows)]
    table = markup.data(
        "Latency",
        ("Job", *(figure_words.percentile_name(percent) for percent in used)),
        [
            (
                row.label + ("" if row.valid else " (invalid)"),
                *(figure_words.latency(row.percentile_ns(percent)) for percent in used),
            )
            for row in rows
        ],
    )
    figures = [markup.figure(pair, "") for pair in zip(wide, narrow, strict=True)]
    explained = tag(
        "p",
        "Logarithmic scale, the same for all jobs. The hill is the share of the I/Os at a latency; "
        "the marks are percentiles. Dashed: an invalid result.",
        class_="soft",
    )
    return markup.section("Latency", explained, *figures, table)


def jobs(report: ReportDocument) -> Markup:
    drawable = [one for one in report.details if one.whole is not None or one.shares]
    if not drawable:
        return Markup()
    shown = drawable[:MOST_JOBS]
    notes = []
    if reason := report.missing.get("members"):
        notes.append(f"Members are not compared: {reason}.")
    if len(shown) < len(drawable):
        notes.append(f"These are the first {len(shown)} of {len(drawable)} results.")
    return markup.section(
        "Job by job",
        *(tag("p", note, class_="soft") for note in notes),
        *(_job(one) for one in shown),
    )


def _job(detail: JobDetail) -> Markup:
    row = detail.row
    glyph, word, tone = figure_words.verdict(row)
    figures, tables = [], []
    if (chart := charts.over_time(detail)) is not None and detail.whole is not None:
        caption = figure_words.sampled(detail.whole) if detail.whole.is_downsampled else ""
        figures.append(markup.figure((chart,), caption))
        ranges = figure_words.ranges(detail.whole)
        if detail.members is not None:
            ranges += figure_words.ranges(detail.members)
        tables.append(markup.data("Throughput", ("Device", "Mean", "Lowest", "Highest"), ranges))
    if (chart := charts.balance(detail)) is not None:
        figures.append(markup.figure((chart,), ""))
        head = ("Member", "Bytes", "I/Os", "Await")
        tables.append(markup.data("Members", head, figure_words.members(detail)))
    return tag(
        "article",
        tag(
            "h3",
            f"{row.label} ",
            tag("span", " ".join((glyph, word, *figure_words.codes(row.of.findings))), class_=tone),
            " ",
            tag("small", "; ".join(part for part in (row.asked, row.where) if part)),
        ),
        tag("div", *figures, class_="pair"),
        *tables,
    )


def trends(report: ReportDocument) -> Markup:
    if report.kind != "run":
        return Markup()
    title = "Earlier runs"
    told = markup.bullets(report.history) if report.history else Markup()
    if not report.trends:
        return markup.section(
            title, tag("p", f"{markup.sentence(report.missing.get('trend', ''))}"), told
        )
    explained = tag(
        "p",
        "Each mark is one run, in order; the last is this run. Crosses are invalid results. Below, "
        "the shade is the interval that the next run falls into if nothing changed.",
        class_="soft",
    )
    return markup.section(
        title,
        told,
        explained,
        tag("div", *(_trend(one) for one in report.trends), class_="many"),
    )


def _trend(one: Trend) -> Markup:
    rows = [
        (
            str(point.run_id),
            text.moment(point.started_at),
            figure_words.iops(point.value)
            if point.valid
            else f"{figure_words.iops(point.value)} (invalid)",
        )
        for point in one.points
    ]
    return tag(
        "div",
        markup.figure((distributions.trend_drawing(one),), figure_words.trend(one)),
        markup.data("Runs", ("Run", "Began", "IOPS"), rows),
    )
