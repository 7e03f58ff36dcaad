"""A fleet as one page, like that of a run: the odd ones first, then what all are and do. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import islice

from appliance import text
from appliance.fleet import words
from appliance.fleet.beside_sql import LOOK_BACK_DAYS
from appliance.fleet.odd import Odd
from appliance.fleet.overview import Normal, Survey
from appliance.fleet.places import day_before
from appliance.report import html, markup, svg
from appliance.report.markup import Markup, tag
from appliance.report.page import Tone

# A page of ten thousand machines must open in a browser; --json has the rest.
MOST_ROWS, MOST_CHARTS = 200, 24
_ODD_HEAD = ("Machine", "Disk", "Type", "Job", "Beside siblings", "Since", "q", "Series")
_NORMAL_HEAD = ("Type", "Job", "Machines", "IOPS", "p10 to p90", "", "Published", "p99")
_WIDTH, _HEIGHT, _LEFT = 272, 150, 58
_TOP, _BOTTOM = 44, 122
_BAR_WIDTH, _BAR_HEIGHT = 130, 16
# Nearer to the zero line than this its label would hide that of an edge.
_LABEL_PX = 14


def page(survey: Survey, place: str, *, written_at: float, version: str) -> str:
    """The whole page; ``place`` is where the files are."""
    headline = words.headline(survey.odd)
    title = f"A fleet of {survey.machines:,} machines"
    return html.document(
        f"{title}: {headline}",
        html.header(
            title,
            Tone.CARE if survey.odd else Tone.GOOD,
            markup.sentence(headline),
            f"As of {survey.present}, the last day of the machine in the middle;"
            f" {LOOK_BACK_DAYS} days are looked at.",
        ),
        _odd(survey),
        _chapter("Not reporting", ("Machine", "Last run"), survey.silent),
        _chapter("Not counted", ("What", "Why"), [(one.what, one.why) for one in survey.problems]),
        _chapter(
            "Machines", ("Type", "Kernel", "fio", "Version", "Machines"),
            map(words.kind, survey.kinds),
        ),
        _chapter(
            "Normal", _NORMAL_HEAD, map(_normal, survey.normals),
            _soft("The shade is from p10 to p90 of the machines, from zero; the line is their"
                  " median, the diamond what is published."),
        ),
        _chapter(
            "Verdicts", ("Rule", "Severity", "Results", "Machines"),
            [(one.code, one.severity, f"{one.results:,}", f"{one.machines:,}")
             for one in survey.judged],
        ),
        html.footer(written_at, version, f"the Parquet in {place}"),
    )  # fmt: skip


def _chapter(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], *above: str) -> Markup:
    """A section of one table with ``above`` before it, left out where that has no row."""
    found = iter(rows)
    shown = list(islice(found, MOST_ROWS))
    if not shown:
        return Markup()
    more = sum(1 for _ in found)
    note = f"The first {len(shown)} of {len(shown) + more:,}; fleet --json has all."
    return markup.section(title, *above, _soft(note) if more else "", markup.table(head, shown))


def _soft(words: str) -> Markup:
    return tag("p", words, class_="soft")


def _odd(survey: Survey) -> Markup:
    title = "Unlike their siblings"
    if not survey.odd:
        return markup.section(title, tag("p", markup.sentence(words.NOTHING_ODD)))
    drawn = [one for one in survey.odd if one.days][:MOST_CHARTS]
    explained = _soft(
        "A machine is compared with those of its type under the same conditions, a disk with the "
        "others of its stripe; the plainest come first. Each dot is a day: by how much the figure "
        "differed from the siblings' median, the dashed line. The upright line is the day on which "
        "it began."
    )
    charts = tag("div", *(_figure(one, survey.present) for one in drawn), class_="many")
    return _chapter(title, _ODD_HEAD, map(_odd_row, survey.odd), explained, charts)


def _odd_row(one: Odd) -> tuple[str, ...]:
    return (
        one.unit.machine,
        one.unit.member or "–",
        one.machine_type or words.UNKNOWN,
        tag("span", words.job(one), class_="figure"),
        tag("span", words.effect(one), class_="figure bad" if one.worse else "figure care"),
        tag("span", words.since(one), class_="figure"),
        tag("span", f"{one.q_value:.1g}", class_="figure"),
        str(one.series),
    )


# ---------------------------------------------------------------------------------- charts


def _figure(one: Odd, present: str) -> Markup:
    days = words.days(one)
    caption = f"{words.effect(one)}, {words.when(one)}; {words.evidence(one)}."
    rows = [(day.isoformat(), f"{percent:+.1f} %") for day, percent in days]
    return tag(
        "div",
        markup.figure((_drawing(one, days, present),), caption),
        markup.data("Days", ("Day", f"{words.figure(one)} beside siblings"), rows),
    )


def _drawing(one: Odd, days: Sequence[tuple[datetime.date, float]], present: str) -> Markup:
    begin = day_before(present, LOOK_BACK_DAYS - 1)
    first = datetime.date.fromisoformat(begin)
    x = svg.Scale(LOOK_BACK_DAYS - 1, _LEFT + 4, _WIDTH - 10)
    named = " ".join(part for part in one.unit if part)
    percents = [percent for _, percent in days]
    above = svg.round_ticks(max([1.0, *percents]), 1)[-1]
    below = svg.round_ticks(max([1.0, *(-one for one in percents)]), 1)[-1]

    def y(percent: float) -> float:
        return _TOP + (_BOTTOM - _TOP) * (above - percent) / (above + below)

    parts = [
        svg.label(2, 14, svg.fitting(named, _WIDTH - 4, bold=True), kind="t job"),
        svg.label(2, 30, svg.fitting(f"{words.job(one)}, {words.figure(one)}", _WIDTH - 4),
                  kind="t axis"),
    ]  # fmt: skip
    for percent in (above, 0.0, -below):
        parts.append(svg.line(_LEFT, y(percent), _WIDTH - 10, y(percent),
                              "grid" if percent else "median"))  # fmt: skip
        if not percent or abs(y(percent) - y(0)) >= _LABEL_PX:
            shown = f"{percent:+g} %" if percent else "0"
            parts.append(svg.label(_LEFT - 6, y(percent) + 4, shown, anchor="end", kind="t axis"))
    if since := words.day_of(one.since):
        at = x((since - first).days)
        parts.append(svg.line(at, _TOP, at, _BOTTOM, "crossed"))
    parts += [svg.mark("dot", x((day - first).days), y(percent), "dot", 2.0)
              for day, percent in days]  # fmt: skip
    for day, at, anchor in ((begin, _LEFT, "start"), (present, _WIDTH - 10, "end")):
        parts.append(svg.label(at, _HEIGHT - 8, day, anchor=anchor, kind="t axis"))
    return svg.drawing(
        _WIDTH,
        _HEIGHT,
        f"{named}: {words.job(one)}, {words.figure(one)} on {len(days)} days",
        "Per cent against the median of its siblings"
        + (f"; it began on {since}" if since else "")
        + ". The table below has the figures.",
        *parts,
    )


def _normal(one: Normal) -> tuple[str, ...]:
    return (
        one.machine_type or words.UNKNOWN,
        tag("span", words.job(one), class_="figure"),
        f"{one.machines:,}",
        text.count(one.iops[1]),
        tag("span", words.spread(one), class_="figure"),
        _bar(one),
        words.published(one),
        words.tail(one),
    )


def _bar(one: Normal) -> Markup:
    """From p10 to p90, the median, and what is published: from zero to the most of them."""
    low, middle, high = one.iops
    published = one.published_iops or 0.0
    x = svg.Scale(max(high, published), 2, _BAR_WIDTH - 6)
    parts = [
        svg.line(2, _BAR_HEIGHT / 2, _BAR_WIDTH - 6, _BAR_HEIGHT / 2, "grid"),
        svg.rect(x(low), 2, max(1.0, x(high) - x(low)), _BAR_HEIGHT - 4, "bar"),
        svg.line(x(middle), 0, x(middle), _BAR_HEIGHT, "zero"),
    ]
    if published:
        parts.append(svg.mark("diamond", x(published), _BAR_HEIGHT / 2, "mark"))
    said = f"{words.spread(one)}, median {text.count(middle)}"
    beside = f"; published {text.count(published)}" if published else ""
    return tag(
        "div",
        svg.drawing(
            _BAR_WIDTH, _BAR_HEIGHT, f"IOPS of {words.job(one)}", f"{said}{beside}.", *parts
        ),
        class_="across",
    )
