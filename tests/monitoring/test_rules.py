"""What promtool and amtool say of our files, and of the rules' behaviour over hours."""

from __future__ import annotations

from tests.monitoring.programs import ALERTMANAGER, RULES, TREE, checked, needs_programs

pytestmark = needs_programs


def test_rules_are_rules() -> None:
    assert "16 rules found" in checked("promtool", "check", "rules", RULES)


def test_each_alert_waits_fires_and_ends_as_it_should() -> None:
    checked("promtool", "test", "rules", TREE / "tests/monitoring/rules_test.yml")


def test_the_example_routes_by_severity() -> None:
    checked("amtool", "check-config", ALERTMANAGER)
    for severity, receiver in (
        ("critical", "pager"), ("warning", "tickets"), ("notice", "digest"),
    ):  # fmt: skip
        said = checked("amtool", "config", "routes", "test", f"--config.file={ALERTMANAGER}",
                       f"severity={severity}", "alertname=StripewrightFinding")  # fmt: skip
        assert said.splitlines()[0] == receiver
