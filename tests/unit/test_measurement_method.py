"""docs/measurement-method.md explains every rule there is, and no other."""

import re
from pathlib import Path

from appliance.bench.validity import coverage, depth
from appliance.bench.validity.rule import RULES
from appliance.model.measurement import Severity
from tests.unit import diary

PAGE = Path(__file__).parents[2] / "docs/measurement-method.md"


def test_each_code_has_its_section_with_its_severity():
    sections = dict(re.findall(r"^### ([A-Z]+) \((.*)\)$", PAGE.read_text(), re.MULTILINE))
    assert set(sections) == set(RULES)
    for code, (rule, _) in RULES.items():
        # DEPTH is a warning with an iodepth of 1.
        assert sections[code].split(", ")[0] == rule.severity


def test_the_figures_of_the_page_are_those_of_the_rules():
    page = PAGE.read_text()
    corrected = coverage.judge(diary.SINGLE_READ_4K).corrected
    assert f"**{corrected:,.0f}**" in page
    assert f"{diary.STRIPE_READ_4K.iops / corrected:.2f}×" in page
    asked_for_8 = depth.judge(diary.EBS_ROOT_64K_ASKED_FOR_8)
    assert f"{asked_for_8.measured:.1f} of {asked_for_8.limit:.0f}" in page
    assert asked_for_8.severity is Severity.BLOCK
