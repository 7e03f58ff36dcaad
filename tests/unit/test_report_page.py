"""The page: it needs nothing from outside, and nothing that it is given becomes markup."""

import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.model.measurement import Capability, Finding, Severity
from appliance.model.runs import EpochRecord, RunState
from appliance.report import distributions, gather, html, markup
from appliance.report.gather import run_report
from appliance.report.page import ReportDocument
from tests.unit import reports
from tests.unit.histories import difference

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer"),
    *("h1", "h2", "h3", "p", "span", "strong", "small", "del", "ins", "a", "br", "div", "article"),
    *("ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td"),
    *("figure", "figcaption", "details", "summary"),
    *("svg", "desc", "g", "text", "line", "rect", "path", "circle"),
}
ATTRIBUTES = {
    *("charset", "content", "http-equiv", "name", "lang", "class", "id", "href", "scope"),
    *("data-label", "aria-hidden", "role", "xmlns", "viewbox", "width", "height", "transform"),
    *("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "text-anchor"),
}
VOID = {"meta", "br"}
HOSTILE = reports.HOSTILE
LONG = f"{'W' * 40} {HOSTILE}" * 120


class Page(HTMLParser):
    """Every element with its attributes, and every text with the elements around it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        assert len(attrs) == len({key for key, _ in attrs})
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((data, tuple(self.open)))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def text(self, within: str) -> list[str]:
        return [text for text, around in self.texts if within in around]


def require_ours(page: str) -> Page:
    """Only our own elements and attributes, all closed, and nothing that loads or runs."""
    found = Page(page)
    assert found.open == []
    assert {tag for tag, _ in found.elements} <= TAGS
    for tag, attributes in found.elements:
        assert set(attributes) <= ATTRIBUTES, tag
        assert re.fullmatch(r"#code-[A-Z]+", attributes.get("href", "#code-X"))
        assert re.fullmatch(r"code-[A-Z]+", attributes.get("id", "code-X"))
    assert not re.search(r"url\(|@import|expression", "".join(found.text("style")))
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(drawing)  # noqa: S314 - our own output
    return found


def page_of(**changes: object) -> str:
    return html.page(run_report(reports.material(**changes), written_at=reports.BEGAN, version="1"))


def hostile(odd: str) -> ReportDocument:
    """A report in which every text is ``odd``."""
    members = (odd, f"{odd}2", "a")
    run = reports.run(
        suite=odd,
        reason=odd,
        notes=(odd, LONG),
        target=odd,
        engine=odd,
        fio_version=odd,
        machine_type=odd,
        device=odd,
        members=members,
        target_kind=odd,
        conditions={odd: odd},
    )
    findings = (
        Finding(odd, Severity.WARN, odd),
        Finding("COVERAGE", Severity.BLOCK, odd, corrected=5.0, unit="iops"),
    )
    results = tuple(
        dataclasses.replace(
            one,
            job=job,
            rw=odd,
            engine=odd,
            findings=findings,
            capability=Capability(iops=1e6, basis=odd, source=LONG),
            percentiles_ns={odd: 5, "99.000000": 7},
            device_io=tuple(difference(m, 9, 9**9, 50, 9, 9**9, 50, 0, 9) for m in members),
        )
        for one, job in zip(reports.results()[:3], (odd, LONG, ""), strict=True)
    )
    began = run.started_at
    material = reports.material(
        run=run,
        results=results,
        epoch=EpochRecord(
            1,
            0.0,
            {"serials": odd, "stripe": odd, "filesystem": odd, "kernel": odd},
            {odd: (odd, LONG)},
        ),
        host=odd,
        rates=tuple(
            reports.mean(began + second, 1, device, 1e9, 0)
            for second in range(95)
            for device in (odd, *members)
        ),
        ended_at=(began + 31, began + 62, began + 93),
        others=tuple(
            dataclasses.replace(
                one,
                run=dataclasses.replace(
                    one.run, state=RunState.FAILED, reason=odd, engine=odd, suite=odd
                ),
            )
            for one in reports.past(3)
        ),
    )
    return run_report(material, written_at=reports.BEGAN, version="1")


@pytest.mark.parametrize("odd", [HOSTILE, LONG, "", "\ud800\x00\u200f", "</style>", "&#60;b>"])
def test_nothing_that_comes_from_disks_becomes_markup(odd):
    page = html.page(hostile(odd))
    found = require_ours(page)
    page.encode("utf-8")
    shown = "".join(text for text, _ in found.texts)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]", shown)
    if odd == HOSTILE:
        assert "</svg><script>alert(1)</script>" in shown, "it is shown as the text that it is"
        assert r"\u202e\x1b[31m\nZ" in shown
    assert len(page) < 400_000


@given(st.text(max_size=60))
def test_no_text_at_all_becomes_markup(odd):
    require_ours(f"{markup.tag('style')}{markup.tag('p', odd, class_=odd)}")


def test_an_imported_file_is_as_hostile():
    judged = tuple(
        dataclasses.replace(
            one,
            file=HOSTILE,
            job=HOSTILE,
            direction=HOSTILE,
            device=HOSTILE,
            engine=HOSTILE,
            rw=HOSTILE,
            findings=(Finding(HOSTILE, Severity.BLOCK, HOSTILE),),
        )
        for one in reports.judged()
    )
    report = gather.import_report(
        judged, file=HOSTILE, machine_type=HOSTILE, imported_at=0, written_at=0, version="1"
    )
    require_ours(html.page(report))


def test_the_page_asks_for_nothing_and_runs_nothing():
    page = page_of()
    found = require_ours(page)
    policy = next(
        one["content"]
        for tag, one in found.elements
        if one.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in without_namespace
    assert "https:" not in without_namespace
    assert ("html", {"lang": "en"}) in found.elements


def test_every_chart_has_its_name_its_words_and_its_table():
    page = page_of()
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        tree = ET.fromstring(drawing)  # noqa: S314 - our own output
        title, description = (tree[index].text or "" for index in (0, 1))
        assert tree[0].tag.endswith("}title")
        assert tree[1].tag.endswith("}desc")
        assert len(title) > 5
        assert len(description) > 20
    tables = Page(page).text("summary")
    assert sorted(set(tables)) == [
        "Latency as a table",
        "Members as a table",
        "Runs as a table",
        "Throughput as a table",
    ]
    assert len(tables) == 1 + 1 + 5 + 5 + 5


def test_headings_do_not_jump():
    levels = [int(tag[1]) for tag, _ in Page(page_of()).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_no_invalid_figure_stands_bare():
    found = Page(page_of())
    for text, around in found.texts:
        if "581,387" in text:
            assert "del" in around or "(invalid)" in text, (text, around)
    assert "412,279 IOPS" in found.text("ins")
    assert not any(
        re.search(r"p\d", text) and "del" not in around and "small" in around
        for text, around in found.texts
        if "302.0" in text
    )


def test_an_invalid_latency_is_struck_in_the_chart_too():
    page = page_of()
    assert re.search(r'<text[^>]*class="t struck"[^>]*>p50 ', page)
    assert page.count("t struck") == 2 * 3, "three percentiles of one result, for two widths"


def test_findings_lead_to_what_they_mean():
    found = Page(page_of())
    ids = {one["id"] for _, one in found.elements if "id" in one}
    links = {one["href"] for _, one in found.elements if "href" in one}
    assert links == {"#code-COVERAGE", "#code-MEMBER"}
    assert ids == {link[1:] for link in links}


def test_times_and_figures_of_the_run_are_there():
    shown = " ".join(text for text, _ in Page(page_of()).texts)
    for words in (
        "1 of 5 results cannot be believed",
        "nvme3n1, serial AWS3C",
        "50.0 % of 825,000 IOPS (corrected figure)",
        "The last 30 runs of this suite",
        "GiB/s",
        "p99.9",
    ):
        assert words in shown


def test_empty_parts_say_why():
    skipped = page_of(
        run=reports.run(state=RunState.SKIPPED, reason="nvme2n1 was busy"),
        results=(),
        rates=(),
        ended_at=(),
        others=(),
    )
    shown = " ".join(text for text, _ in require_ours(skipped).texts)
    assert "Skipped: nothing was measured" in shown
    assert "nvme2n1 was busy" in shown
    assert "There are none." in shown
    assert "No samples of this run are kept." in shown
    assert "<svg" not in skipped


@pytest.mark.parametrize("members", [1, 2, 6, 7, 24])
def test_any_number_of_members_is_drawn(members):
    names = tuple(f"nvme{n}n1" for n in range(1, members + 1))
    run, found = reports.run(members=names), reports.results(members=members)
    samples, ended = reports.rates(run, found)
    page = page_of(run=run, results=found, rates=samples, ended_at=ended)
    shown = " ".join(require_ours(page).text("svg"))
    if members == 1:
        assert "members" not in shown
    elif members <= 6:
        assert all(name in shown for name in names)
    else:
        assert f"{members} members, dashed: slowest, nvme3n1" in shown


def test_many_jobs_are_cut_and_it_says_so():
    many = tuple(
        dataclasses.replace(reports.results()[0], job=f"job-{n}", device_io=deltas)
        for n in range(70)
        for deltas in (reports.results()[0].device_io,)
    )
    page = page_of(results=many, ended_at=(), others=())
    shown = " ".join(text for text, _ in require_ours(page).texts)
    assert "These are the first 64 of 70 results." in shown
    assert "70 job-69" in shown


def test_an_invalid_result_far_off_stays_within_its_trend():
    found = list(reports.results())
    found[0] = dataclasses.replace(found[0], iops=found[0].iops * 9, findings=(reports.SHORT,))
    report = run_report(
        reports.material(results=tuple(found)), written_at=reports.BEGAN, version="1"
    )
    drawing = distributions.trend_drawing(report.trends[0])
    crosses = re.findall(r'<path d="M([\d.-]+),([\d.-]+) [^"]*" class="crossed">', drawing)
    assert len(crosses) == 2, "in the amounts and in the changes"
    assert all(0 <= float(y) <= distributions.TREND_HEIGHT - 24 for _, y in crosses)


@pytest.mark.parametrize("odd", [0.0, 1e-12, 1e300, float("inf")])
def test_figures_that_cannot_be_do_not_break_the_page(odd):
    found = tuple(
        dataclasses.replace(one, iops=odd, bandwidth_bytes=odd, latency_mean_ns=odd, bins={0: 1})
        for one in reports.results()
    )
    samples = tuple(
        dataclasses.replace(one, read_bytes_per_s=odd) for one in reports.material().rates
    )
    require_ours(page_of(results=found, rates=samples))
