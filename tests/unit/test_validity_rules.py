"""The register of rules: one more is judged and explained without anything else being touched."""

import dataclasses
from collections.abc import Iterator

import pytest

from appliance.bench import validity
from appliance.bench.validity.rule import RULES, Rule, judges
from appliance.model.measurement import Finding, Measurement, Severity
from appliance.report import gather, html, markdown
from tests.unit import reports

TOY = Rule(
    code="TOY",
    rank=35,
    severity=Severity.WARN,
    title="A toy was measured",
    means="The job is called a toy.",
    todo="Measure something else.",
)


@pytest.fixture
def toy() -> Iterator[None]:
    @judges(TOY)
    def judge(measurement: Measurement) -> Finding | None:
        return TOY.finding("it is a toy", measured=1.0) if measurement.job == "toy" else None

    yield
    del RULES["TOY"]


@pytest.mark.usefixtures("toy")
def test_a_rule_that_is_registered_is_judged_and_explained():
    one = dataclasses.replace(reports.judged()[0], job="toy")
    one = dataclasses.replace(one, findings=validity.judge(one))
    assert [finding.code for finding in one.findings] == ["TOY"]
    assert one.valid
    report = gather.import_report(
        (one,), file="d.txt", machine_type="", imported_at=0, written_at=0, version="1"
    )
    for page in (html.page(report), markdown.text(report)):
        for words in ("TOY", "it is a toy", TOY.title, TOY.means, TOY.todo):
            assert words in page
    assert "TOY" not in [
        finding.code for finding in validity.judge(dataclasses.replace(one, job="no toy"))
    ]


def test_findings_of_one_severity_are_in_the_order_of_their_rules():
    ranks = [rule.rank for rule, _ in RULES.values()]
    assert len(set(ranks)) == len(ranks) == 12


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_rule_explains_itself_in_sentences(code):
    rule = validity.rule_of(code)
    assert rule is not None
    assert all(words.endswith(".") for words in (rule.means, rule.todo))
    assert not rule.title.endswith(".")
