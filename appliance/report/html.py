"""A report as one HTML page that needs nothing from anywhere: no script, no font, no request.

Its Content-Security-Policy forbids all of that, so that a page that was tampered with does
not do it either. Every text is escaped by :mod:`appliance.report.markup`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from appliance import text
from appliance.bench.validity import rule_of
from appliance.report import chapters, figure_words, markup
from appliance.report.markup import Markup, tag, together
from appliance.report.page import FactGroup, ReportDocument, Row, Tone
from appliance.report.style import STYLE

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_GLYPHS = {Tone.GOOD: "✓", Tone.CARE: "!", Tone.BAD: "✗"}
_COLUMNS = ("Job", "Rate", "Latency", "Coverage", "Published", "Earlier runs", "Verdict")
# Figures are not broken over lines.
_CLASSES = {"Rate": "figure", "Latency": "figure", "Coverage": "figure"}


def page(report: ReportDocument) -> str:
    """The whole page."""
    return document(
        f"{report.title}: {report.headline}",
        header(report.title, report.tone, report.headline, report.summary),
        _notes(report),
        _results(report),
        _findings(report.rows),
        _facts(report.facts),
        chapters.timeline(report),
        chapters.latency(report),
        chapters.jobs(report),
        chapters.trends(report),
        _advice(report.rows),
        footer(report.written_at, report.version, "its history"),
    )


def document(title: str, *parts: str) -> str:
    """``parts`` as a page of its own, called ``title``."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Markup(POLICY)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    body = tag("body", tag("main", *parts))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def header(title: str, tone: Tone, headline: str, summary: str) -> Markup:
    """What a page begins with."""
    return tag(
        "header",
        tag("p", "Stripewright report", class_="kicker"),
        tag("h1", title),
        tag(
            "p",
            tag("span", f"{_GLYPHS[tone]} ", aria_hidden="true"),
            headline,
            class_=f"headline {tone}",
        ),
        tag("p", summary),
    )


def _notes(report: ReportDocument) -> Markup:
    if not report.notes:
        return Markup()
    return tag(
        "section",
        tag("h2", "Read this first", class_="vh"),
        markup.bullets(report.notes),
        class_="note",
    )


# ---------------------------------------------------------------------- results, findings


def _results(report: ReportDocument) -> Markup:
    if not report.rows:
        return markup.section("Results", tag("p", "There are none."))
    columns = [one for one in _COLUMNS if one != "Earlier runs" or report.kind == "run"]
    explained = tag(
        "p",
        "Latency is from submission to completion. A figure that is struck out is invalid: do not "
        "quote it.",
        class_="soft",
    )
    made = tag(
        "table",
        tag("thead", tag("tr", *(tag("th", one, scope="col") for one in columns))),
        tag("tbody", *(_result(row, columns) for row in report.rows)),
        class_="results",
    )
    sources = figure_words.sources(report.rows)
    beneath = [
        tag("div", tag("h3", title), markup.bullets(lines))
        for title, lines in (
            ("Published figures", sources),
            ("The stripe and its members", report.gains),
        )
        if lines
    ]
    return markup.section("Results", explained, made, *beneath)


def _result(row: Row, columns: Sequence[str]) -> Markup:
    glyph, word, tone = figure_words.verdict(row)
    codes = together(
        part for code in figure_words.codes(row.of.findings) for part in (Markup(" "), _code(code))
    )
    where = (tag("small", row.where),) if row.where else ()
    cells = {
        "Rate": together(
            [
                _figure(row, _iops(row.of.iops), row.corrected_iops, _iops),
                tag("br"),
                _figure(
                    row,
                    figure_words.bandwidth(row.of.bandwidth_bytes),
                    row.corrected_bytes_per_s,
                    figure_words.bandwidth,
                ),
            ]
        ),
        "Latency": _latencies(row),
        "Coverage": together([figure_words.coverage(row)]),
        "Published": together(tag("div", figure_words.published(one)) for one in row.published)
        or together([figure_words.UNKNOWN]),
        "Earlier runs": _baseline(row),
        "Verdict": together([tag("span", f"{glyph} {word}", class_=tone), codes]),
    }
    return tag(
        "tr",
        tag(
            "th",
            row.label,
            tag("br"),
            tag("small", row.asked.replace(" × ", "\u00a0×\u00a0")),
            *where,
            scope="row",
        ),
        *(
            tag("td", tag("div", cells[name]), data_label=name, class_=_CLASSES.get(name))
            for name in columns[1:]
        ),
    )


def _iops(value: float | None) -> str:
    return f"{figure_words.iops(value)} IOPS"


def _figure(
    row: Row,
    shown: str,
    corrected: float | None = None,
    say: Callable[[float | None], str] = str,
) -> Markup:
    """A figure, or a struck one with what is probably true beside it."""
    if row.valid or shown.startswith(figure_words.UNKNOWN):
        return together([shown])
    parts = [tag("span", "invalid: ", class_="vh"), tag("del", shown)]
    if corrected is not None:
        parts += [tag("br"), tag("ins", say(corrected)), tag("small", "probably true")]
    else:
        parts.append(tag("small", "invalid"))
    return together(parts)


def _baseline(row: Row) -> Markup:
    if row.baseline is None:
        return together([figure_words.UNKNOWN])
    short, normal = figure_words.baseline(row.baseline)
    return together([short, tag("small", normal)] if normal else [short])


def _latencies(row: Row) -> Markup:
    marked = [
        f"{figure_words.percentile_name(percent)} {figure_words.latency(ns)}"
        for percent in (50.0, 99.0, 99.9)
        if (ns := row.percentile_ns(percent)) is not None
    ]
    others = [tag("small", one if row.valid else tag("del", one)) for one in marked]
    if row.by_the_disks:
        others.append(tag("small", f"by the disks: {row.by_the_disks}"))
    return together([_figure(row, figure_words.latency(row.of.latency_mean_ns)), *others])


def _code(code: str) -> Markup:
    return tag("a", code, href=f"#code-{code}") if rule_of(code) else tag("span", code)


def _findings(rows: Sequence[Row]) -> Markup:
    if not any(row.of.findings for row in rows):
        return Markup()
    parts = [
        tag(
            "li",
            tag("strong", row.label),
            ": ",
            _code(finding.code),
            f" ({finding.severity}): {finding.message}.".replace("..", "."),
        )
        for row in rows
        for finding in row.of.findings
    ]
    return markup.section("Findings", tag("ul", *parts))


def _advice(rows: Sequence[Row]) -> Markup:
    known = figure_words.advice(rows)
    if not known:
        return Markup()
    pairs = [
        piece
        for one in known
        for piece in (
            tag("dt", f"{one.code}: {one.title}", id=f"code-{one.code}"),
            tag("dd", one.means, " ", tag("strong", "What to do: "), one.todo),
        )
    ]
    return markup.section("What the codes mean", tag("dl", *pairs), kind="advice")


# --------------------------------------------------------------------------- surroundings


def _facts(groups: Sequence[FactGroup]) -> Markup:
    made = [
        tag(
            "div",
            tag("h3", group.title),
            tag(
                "dl",
                *(
                    part
                    for label, value in group.facts
                    for part in (tag("dt", label), tag("dd", value))
                ),
            ),
        )
        for group in groups
    ]
    return markup.section("What was measured", tag("div", *made, class_="facts"))


def footer(written_at: float, version: str, source: str) -> Markup:
    """What a page ends with."""
    return tag(
        "footer",
        tag(
            "p",
            f"Written {text.moment(written_at)} by Stripewright {version} from {source}. "
            "Times are UTC. The page is complete: it loads nothing and runs nothing.",
            class_="soft",
        ),
    )
