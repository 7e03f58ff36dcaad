"""The rules on real reports: no valid one blocked, no bogus one passed (tests/validity_set)."""

from __future__ import annotations

import pytest

from tests.validity_set import bogus, good, judge
from tests.validity_set.record import label_text

CASES = {case.name: case for case in judge.load_all()}
_MOST_BYTES = 3 * 1024 * 1024


def test_set_is_large_and_even_enough() -> None:
    valid = sum(case.label.valid for case in CASES.values())
    assert len(CASES) >= 60
    assert 0.4 <= valid / len(CASES) <= 0.6
    assert sum(file.stat().st_size for file in judge.SET.glob("*/*")) < _MOST_BYTES


def test_every_code_is_demanded_by_some_case() -> None:
    assert {code for case in CASES.values() for code in case.label.expect} == set(judge.CODES)


def test_both_forms_of_a_report_are_there_with_and_without_fault() -> None:
    seen = {(case.file, case.label.valid) for case in CASES.values()}
    assert seen == {(f, v) for f in ("report.txt", "report.json") for v in (True, False)}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    verdict = judge.judge(CASES[name])
    said = "\n".join(f"{one.code}: {one.message}" for one in verdict.findings)
    assert not verdict.problems, f"{'; '.join(verdict.problems)}\n{said}"


@pytest.mark.parametrize(
    ("name", "share"), [("105-half-written-run", 0.5), ("107-md-half-written-json", 0.5)]
)
def test_corrected_figure_is_the_share_that_was_written(name: str, share: float) -> None:
    verdict = judge.judge(CASES[name])
    (finding,) = [one for one in verdict.findings if one.code == "COVERAGE"]
    assert finding.measured == pytest.approx(share, abs=0.02)


def test_set_is_the_one_that_the_program_makes() -> None:
    cases = (*good.CASES, *good.HOST_CASES, *bogus.CASES, *bogus.DIARY[1:], *bogus.HOST_CASES)
    made = {case.name: label_text(case.label) for case in cases}
    assert made == {name: (judge.SET / name / "label.toml").read_text() for name in CASES}


OURS = [
    name
    for name, case in CASES.items()
    if "--name=w0" in case.facts.get("argv", ())
    and case.facts["asked"]["direct"]
    # No suite of ours has a rate.
    and not any(word.startswith("--rate") for word in case.facts["argv"])
]


@pytest.mark.parametrize("name", OURS)
def test_a_run_of_ours_is_judged_like_its_report(name: str) -> None:
    codes = {finding.code for finding in judge.by_the_appliance(CASES[name])}
    assert codes == judge.judge(CASES[name]).codes


def test_page_is_current() -> None:
    verdicts = [judge.judge(case) for case in CASES.values()]
    assert judge.PAGE.read_text() == judge.page(verdicts), (
        "write it again: python -m tests.validity_set.judge"
    )
