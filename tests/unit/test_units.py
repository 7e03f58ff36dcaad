"""What the unit files and the polkit rule promise, as far as text can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from appliance.bench.suite import suite_names

UNITS = Path(__file__).parents[2] / "units"
SYSTEMD = UNITS / "systemd"
RULES = (UNITS / "polkit/50-stripewright.rules").read_text()
HEX = "0123456789abcdef" * 4
# [/^pattern$/, ["verb", ...]] as the rule file has them.
ALLOWED = [
    (re.compile(pattern.replace("$", r"\Z")), set(re.findall(r'"([a-z-]+)"', verbs)))
    for pattern, verbs in re.findall(r"\[/(\^[^/]+\$)/, \[([^\]]+)\]\]", RULES)
]


def allowed(unit: str, verb: str) -> bool:
    return any(pattern.match(unit) and verb in verbs for pattern, verbs in ALLOWED)


def test_the_patterns_were_found() -> None:
    assert len(ALLOWED) == 4


@pytest.mark.parametrize(
    ("unit", "verbs"),
    [
        ("stripewright-bench@smoke.service", {"start", "stop"}),
        ("stripewright-bench@i3-stripe.service", {"start", "stop"}),
        (f"stripewright-plan@{HEX}.service", {"start"}),
        (f"stripewright-apply@{HEX}.service", {"start"}),
        ("stripewright-initialise@my-data.service", {"start", "stop"}),
    ],
)
def test_operators_have_these_verbs_on_these_units(unit: str, verbs: set[str]) -> None:
    every = {"start", "stop", "restart", "reload", "kill", "set-property", "reset-failed", "freeze"}
    assert {verb for verb in every if allowed(unit, verb)} == verbs


@pytest.mark.parametrize(
    "unit",
    [
        "stripewright-bench@.service",
        "stripewright-bench@mine.toml.service",
        "stripewright-bench@-tmp-mine.service",
        "stripewright-bench@tmp\\x2fmine.service",
        "stripewright-bench@" + "a" * 41 + ".service",
        f"stripewright-plan@{HEX[:-1]}.service",
        f"stripewright-plan@{HEX}0.service",
        f"stripewright-plan@{HEX.upper()}.service",
        f"stripewright-plan@{HEX}.service.service",
        f"stripewright-plan@{HEX}.timer",
        f"x-stripewright-plan@{HEX}.service",
        f"stripewright-apply@{HEX}.service\n",
        f"stripewright-apply@{HEX[:-1]}é.service",
        "stripewright-apply@.service",
        "stripewright-initialise@.service",
        "stripewright-initialise@a.b.service",
        "stripewright-initialise@..service",
        "stripewright-initialise@a\\x2fb.service",
        "stripewright-initialise@" + "a" * 13 + ".service",
        "stripewright-assemble.service",
        "stripewright-release.service",
        "stripewright-cpu-latency.service",
        "stripewright-watch.service",
        "ssh.service",
        "",
    ],
)
def test_nothing_else_can_be_started(unit: str) -> None:
    assert not allowed(unit, "start")


def test_only_names_with_a_unit_file_behind_them_are_allowed() -> None:
    """polkit cannot tell a transient unit: systemd refuses one whose name has a file."""
    for pattern, _ in ALLOWED:
        template = pattern.pattern.removeprefix("^").partition("@")[0]
        assert (SYSTEMD / f"{template}@.service").exists()


@pytest.mark.parametrize("name", ["plan", "apply", "initialise"])
def test_units_that_operators_name_do_not_stay_in_memory(name: str) -> None:
    assert (
        "CollectMode=inactive-or-failed" in (SYSTEMD / f"stripewright-{name}@.service").read_text()
    )


def unit(name: str) -> set[str]:
    return set((SYSTEMD / name).read_text().splitlines())


@pytest.mark.parametrize("name", ["assemble", "apply@"])
def test_who_changes_disks_is_not_cut_off(name: str) -> None:
    lines = unit(f"stripewright-{name}.service")
    # Only the program is told to end, and has time for a step; reboot.target gives up at 30 min.
    assert {"KillMode=mixed", "TimeoutStopSec=25min", "OOMScoreAdjust=-500"} <= lines


def test_planning_holds_up_no_shutdown() -> None:
    lines = unit("stripewright-plan@.service")
    assert {"DefaultDependencies=no", "After=sysinit.target basic.target"} <= lines
    assert not any(line.startswith("Conflicts=") for line in lines)
    # Its slice is required by it and would be stopped, and it with that.
    assert "DefaultDependencies=no" in unit("stripewright-plan.slice")


@pytest.mark.parametrize("name", ["plan", "apply"])
def test_what_operators_start_many_of_is_bounded_together(name: str) -> None:
    assert f"Slice=stripewright-{name}.slice" in unit(f"stripewright-{name}@.service")
    text = (SYSTEMD / f"stripewright-{name}.slice").read_text()
    assert re.search(r"^MemoryMax=\d+[MG]$", text, re.M)
    assert re.search(r"^TasksMax=\d+$", text, re.M)


def test_a_late_disk_brings_up_what_waits_for_the_volumes() -> None:
    lines = unit("stripewright-assemble.service")
    assert "Wants=stripewright.target" in lines
    assert "ExecStart=/usr/bin/stripewright assemble --again" in lines
    # The target is after this unit: the other way round it would be a cycle.
    assert not any("stripewright.target" in line for line in lines if "After=" in line)
    assert "After=stripewright-assemble.service" in unit("stripewright.target")


def test_a_volumes_device_is_not_waited_for_before_the_volume_is_made() -> None:
    lines = unit("dev-stripewright-.device.d/50-after-assemble.conf")
    assert "After=stripewright-assemble.service" in lines


@pytest.mark.parametrize(
    "path", sorted(SYSTEMD.glob("stripewright-*.service")), ids=lambda path: path.stem
)
def test_every_service_gives_up_what_it_does_not_need(path: Path) -> None:
    text = path.read_text()
    if path.stem == "stripewright-hostkey":
        return
    for line in ("NoNewPrivileges=yes", "SystemCallArchitectures=native", "LockPersonality=yes"):
        assert line in text, line
    assert re.search(r"^CapabilityBoundingSet=", text, re.M)


def test_what_runs_as_another_user_exists() -> None:
    users = set(re.findall(r"^u (\S+)", (UNITS / "sysusers/stripewright.conf").read_text(), re.M))
    for path in SYSTEMD.glob("*.service"):
        assert set(re.findall(r"^User=(.+)$", path.read_text(), re.M)) <= users


def test_every_suite_can_be_started_and_each_timer_starts_one() -> None:
    names = suite_names()
    assert all(allowed(f"stripewright-bench@{name}.service", "start") for name in names)
    timed = {path.stem.partition("@")[2] for path in SYSTEMD.glob("stripewright-bench@*.timer")}
    assert timed == {"smoke", "full"}
    preset = (UNITS / "presets/00-stripewright.preset").read_text()
    for name in timed:
        assert f"enable stripewright-bench@{name}.timer\n" in preset
        assert f"Unit=stripewright-bench@{name}.service" in unit(f"stripewright-bench@{name}.timer")


def test_no_unit_writes_to_a_raw_device() -> None:
    for path in [*SYSTEMD.glob("*.service"), *SYSTEMD.glob("*.timer")]:
        assert "--raw" not in path.read_text()
    assert "PrivateDevices=yes" in unit("stripewright-bench@.service")


def test_every_command_of_a_unit_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    from appliance.arguments import parser
    from appliance.cli import HANDLERS

    for path in SYSTEMD.glob("*.service"):
        lines = re.findall(r"^Exec\w+=-?/usr/bin/stripewright (.+)$", path.read_text(), re.M)
        for line in lines:
            words = ["smoke" if word == "%i" else word for word in line.split()]
            assert parser().parse_args(words).does in HANDLERS, line
