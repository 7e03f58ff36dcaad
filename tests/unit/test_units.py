"""What the unit files and the polkit rule promise, as far as text can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from appliance import paths
from appliance.bench.suite import suite_names
from appliance.bench.timetable import DROP_IN
from appliance.system.services import bench_unit

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
    assert len(ALLOWED) == 8


@pytest.mark.parametrize(
    ("unit", "verbs"),
    [
        ("stripewright-bench@smoke.service", {"start", "stop"}),
        ("stripewright-bench@i3-stripe.service", {"start", "stop"}),
        ("stripewright-bench@smoke:data.service", {"start", "stop"}),
        ("stripewright-bench@full:data-2.service", {"start", "stop"}),
        (f"stripewright-plan@{HEX}.service", {"start"}),
        (f"stripewright-apply@{HEX}.service", {"start"}),
        ("stripewright-initialise@my-data.service", {"start", "stop"}),
        (f"stripewright-schedule@{HEX}.service", {"start"}),
        ("stripewright-drift.service", {"start"}),
        ("stripewright-acceptance.service", {"start", "stop"}),
        ("stripewright-confirm.service", {"start", "stop"}),
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
        "stripewright-bench@smoke:.service",
        "stripewright-bench@:data.service",
        "stripewright-bench@smoke:2data.service",
        "stripewright-bench@smoke:Data.service",
        "stripewright-bench@smoke:data:logs.service",
        "stripewright-bench@smoke:data.toml.service",
        "stripewright-bench@smoke:..service",
        "stripewright-bench@smoke:" + "a" * 13 + ".service",
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
        "stripewright-drift.timer",
        "stripewright-driftxservice",
        "x-stripewright-drift.service",
        "stripewright-drift.service\n",
        "stripewright-look.service",
        "stripewright-confirmxservice",
        "stripewright-confirm@x.service",
        "stripewright-confirm.path",
        "stripewright-schedule.service",
        "stripewright-schedule.path",
        "stripewright-schedule@.service",
        f"stripewright-schedule@{HEX[:-1]}.service",
        "stripewright-bench@smoke.timer",
        "stripewright.target",
        "ssh.service",
        "",
    ],
)
def test_nothing_else_can_be_started(unit: str) -> None:
    assert not allowed(unit, "start")


def test_only_names_with_a_unit_file_behind_them_are_allowed() -> None:
    """polkit cannot tell a transient unit: systemd refuses one whose name has a file."""
    assert all((SYSTEMD / name).exists() for name in files_that_operators_start())


def files_that_operators_start() -> list[str]:
    names = [pattern.pattern[1:].removesuffix(r"\Z").replace("\\", "") for pattern, _ in ALLOWED]
    return [re.sub("@.*", "@.service", name) for name in names]


@pytest.mark.parametrize("name", files_that_operators_start())
def test_no_start_of_an_operators_keeps_a_machine_from_powering_off(name: str) -> None:
    """A start job of any mode ends at once, or shutdown does not conflict with it (0042)."""
    assert unit(name) & {"Type=exec", "DefaultDependencies=no"}


def test_who_listens_may_ask_for_two_things() -> None:
    (words,) = re.findall(r"if \(listens &&(.*?)\) \{", RULES, re.S)
    asked = re.findall(r'unit === "([^"]+)" && verb === "([^"]+)"', words)
    assert asked == [
        ("stripewright-assemble.service", "reload-or-restart"),
        ("stripewright-drift.service", "start"),
    ]
    # The bench user's own rule is in test_provisioned.py. Three users or groups, and no fourth.
    assert RULES.count("polkit.Result.YES") == 3
    assert set(re.findall(r"subject\.\w+[^;,)]*", RULES)) == {
        'subject.isInGroup("stripewright-operators"',
        'subject.user === "stripewright-watch"',
        'subject.user === "stripewright"',
        "subject.user",
    }


def test_what_is_not_listed_is_refused_to_operators_and_not_left_to_a_policy() -> None:
    _, _, rule = RULES.partition("polkit.addRule")
    # For users who are not ours, alone.
    assert rule.count("polkit.Result.NOT_HANDLED") == 1
    assert rule.rstrip().endswith("return polkit.Result.NO;\n});")


@pytest.mark.parametrize("name", ["plan", "apply", "initialise", "schedule"])
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


def test_no_job_of_an_operator_has_a_power_off_refused() -> None:
    """systemd refuses a power-off while a start job that cannot be reversed conflicts with it.

    polkit does not see the mode of a job: either the job ends when the program runs, or
    shutdown does not conflict with it.
    """
    for pattern, verbs in ALLOWED:
        name = pattern.pattern.removeprefix("^").removesuffix(r"\Z").replace("\\", "")
        template, at, _ = name.partition("@")
        lines = unit(f"{template}@.service" if at else name)
        assert "start" in verbs
        assert "Type=exec" in lines or (
            {"DefaultDependencies=no", "After=sysinit.target basic.target"} <= lines
            and not any(line.startswith(("Conflicts=", "StopPropagatedFrom=")) for line in lines)
        ), name
    # What is pulled in, and each slice, which is required by what is in it.
    assert "DefaultDependencies=no" in unit("stripewright-look.service")
    for path in SYSTEMD.glob("stripewright*.slice"):
        assert "DefaultDependencies=no" in unit(path.name), path.name
    assert (SYSTEMD / "stripewright.slice").exists()


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("plan@", "plan"), ("schedule@", "plan"), ("apply@", "apply"), ("bench@", "bench"),
        ("initialise@", "bench"), ("confirm", "bench"), ("acceptance", "bench"),
    ],
)  # fmt: skip
def test_what_operators_start_many_of_is_bounded_together(name: str, of: str) -> None:
    assert f"Slice=stripewright-{of}.slice" in unit(f"stripewright-{name}.service")
    text = (SYSTEMD / f"stripewright-{of}.slice").read_text()
    assert re.search(r"^MemoryMax=\d+[MG]$", text, re.M)
    assert re.search(r"^TasksMax=\d+$", text, re.M)


@pytest.mark.parametrize(
    ("name", "where"), [("home", Path("/home")), ("var-spool", paths.SPOOL_DIR.parent)]
)
def test_file_systems_that_operators_write_to_are_on(name: str, where: Path) -> None:
    assert f"Where={where}" in unit(f"{name}.mount")
    assert preset(f"{name}.mount") == "enable"
    assert paths.DRIFT_SPOOL_DIR.parent == paths.SPOOL_DIR.parent


def test_what_sessions_write_to_is_their_own_and_bounded() -> None:
    text = (SYSTEMD / "ssh.service.d/60-stripewright-operators.conf").read_text()
    places = re.findall(r"^TemporaryFileSystem=([^:]+):(.+)$", text, re.M)
    assert {place for place, _ in places} == {"/tmp", "/var/tmp", "/dev/shm", "/run/lock"}
    for place, options in places:
        # systemd hands the options over as they are: a doubled per cent sign fails the service.
        assert re.search(r",size=\d+[%M],nr_inodes=\d+k$", options), place
    assert "LogNamespace=operators" in text
    kept = UNITS.parent / "mkosi.extra/etc/systemd/journald@operators.conf.d/10-stripewright.conf"
    assert re.search(r"^SystemMaxUse=\d+M$", kept.read_text(), re.M)
    assert (UNITS.parent / "mkosi.extra/etc/systemd/system/user@.service").readlink() == Path(
        "/dev/null"
    )


def test_what_d_bus_and_systemd_keep_for_a_user_is_bounded() -> None:
    text = (UNITS.parent / "mkosi.extra/usr/share/dbus-1/system.d/50-stripewright.conf").read_text()
    limits = {name: int(value) for name, value in re.findall(r'name="(\w+)">(\d+)<', text)}
    connections = limits["max_connections_per_user"]
    kept = limits["max_outgoing_bytes"] + limits["max_message_size"]
    assert connections * kept <= 128 << 20
    # Answers wait in systemd's own memory: its list of 900 units is the largest.
    assert connections * limits["max_replies_per_connection"] * 200_000 < 256 << 20


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
    for line in (
        "NoNewPrivileges=yes",
        "SystemCallArchitectures=native",
        "LockPersonality=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "ProtectKernelTunables=yes",
        "ProtectControlGroups=yes",
        "RestrictNamespaces=yes",
    ):
        assert line in text, line
    assert re.search(r"^CapabilityBoundingSet=", text, re.M)


@pytest.mark.parametrize("name", ["assemble", "apply@", "release"])
def test_who_changes_disks_can_neither_mount_nor_give_anything_away(name: str) -> None:
    """systemd mounts for it (docs/decisions/0040)."""
    lines = unit(f"stripewright-{name}.service")
    assert {"PrivateMounts=yes", "PrivateNetwork=yes", "DevicePolicy=closed"} <= lines
    assert not any("@mount" in line for line in lines)
    (bounds,) = (line for line in lines if line.startswith("CapabilityBoundingSet="))
    assert not {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_NET_ADMIN", "CAP_SYS_RAWIO"} & set(
        bounds.partition("=")[2].split()
    )


def test_the_boot_unit_and_a_plan_that_is_carried_out_are_confined_alike() -> None:
    of_its_own = ("#", "[", "Exec", "Description=", "CollectMode=", "Slice=", "SuccessExitStatus=",
                  "RemainAfterExit=", "RequiresMountsFor=", "After=", "Wants=", "WantedBy=",
                  "StartLimit", "Memory", "Tasks", "Type=", "Timeout", "State")  # fmt: skip
    assemble, apply = (
        {line for line in unit(f"stripewright-{name}.service") if not line.startswith(of_its_own)}
        for name in ("assemble", "apply@")
    )
    # ext4 asks for it to grow a filesystem; a boot grows nothing.
    assert apply == {
        f"{line} CAP_SYS_RESOURCE" if line.startswith("CapabilityBoundingSet=") else line
        for line in assemble
    }


def test_what_runs_as_another_user_exists() -> None:
    users = set(re.findall(r"^u (\S+)", (UNITS / "sysusers/stripewright.conf").read_text(), re.M))
    for path in SYSTEMD.glob("*.service"):
        assert set(re.findall(r"^User=(.+)$", path.read_text(), re.M)) <= users


def test_every_suite_can_be_started_and_each_timer_starts_one() -> None:
    names = suite_names()
    assert all(allowed(f"stripewright-bench@{name}.service", "start") for name in names)
    timed = {path.stem.partition("@")[2] for path in SYSTEMD.glob("stripewright-bench@*.timer")}
    # The template is for suites that a schedule names.
    assert timed == {"smoke", "full", ""}
    timed.remove("")
    preset = (UNITS / "presets/00-stripewright.preset").read_text()
    for name in timed:
        assert f"enable stripewright-bench@{name}.timer\n" in preset
        assert f"Unit=stripewright-bench@{name}.service" in unit(f"stripewright-bench@{name}.timer")


def test_every_volume_can_be_measured_with_every_suite() -> None:
    for suite in suite_names():
        for volume in ("a", "scratch", "abcdefghij-2"):
            assert allowed(bench_unit(suite, volume), "start")
    # What the operator names reaches the command whole, and as one word.
    (words,) = re.findall(
        r"^ExecStart=(.+)$", (SYSTEMD / "stripewright-bench@.service").read_text(), re.M
    )
    assert words.split()[1:4] == ["bench", "run", "%i"]


@pytest.mark.parametrize("name", ["bench@", "confirm", "acceptance"])
def test_what_measures_tells_its_figures_in_a_directory_of_its_own(name: str) -> None:
    """Not %i alone: two units of one suite's name, and those without an instance, would share it.

    One that was shared would be taken away by the unit that ends first.
    """
    assert f"RuntimeDirectory={paths.LIVE_DIR.name}/%N" in unit(f"stripewright-{name}.service")
    assert paths.LIVE_DIR.parent == Path("/run")


def test_no_unit_writes_to_a_raw_device() -> None:
    for path in [*SYSTEMD.glob("*.service"), *SYSTEMD.glob("*.timer")]:
        assert "--raw" not in path.read_text()
    assert "PrivateDevices=yes" in unit("stripewright-bench@.service")


def test_every_command_of_a_unit_is_one() -> None:
    from appliance.cli.command import parse
    from appliance.cli.main import commands

    known = commands()
    for path in SYSTEMD.glob("*.service"):
        lines = re.findall(r"^Exec\w+=-?/usr/bin/stripewright (.+)$", path.read_text(), re.M)
        for line in lines:
            words = ["smoke" if word == "%i" else word for word in line.split()]
            assert parse(words, known).command.run is not None, line


def preset(name: str) -> str:
    for line in (UNITS / "presets/00-stripewright.preset").read_text().splitlines():
        verb, _, pattern = line.partition(" ")
        if verb in {"enable", "disable"} and pattern in {name, "*"}:
            return verb
    raise AssertionError


def test_what_looks_for_drift_is_on_and_acceptance_is_not() -> None:
    on = {
        "stripewright-drift.timer",
        "stripewright-confirm.path",
        "stripewright-schedule.service",
        "stripewright-schedule.path",
    }
    assert {name for name in on if preset(name) == "enable"} == on
    assert preset("stripewright-acceptance.service") == "disable"
    assert "[Install]" not in (SYSTEMD / "stripewright-acceptance.service").read_text()
    assert not any("acceptance" in line for line in unit("stripewright.target"))


def test_a_required_acceptance_leaves_its_directory_where_it_passed() -> None:
    # stripewright.target asserts it (bench/timetable.py): gone with the unit, it must not be
    # kept when the unit fails, nor go when it has ended well.
    lines = unit("stripewright-acceptance.service")
    assert {"RuntimeDirectory=stripewright-bench/%N", "RemainAfterExit=yes"} <= lines
    assert not any(line.startswith("RuntimeDirectoryPreserve") for line in lines)


def test_a_look_for_drift_writes_nothing_to_what_it_looks_at() -> None:
    lines = unit("stripewright-drift.service")
    assert {"User=stripewright", "ProtectSystem=strict", "CapabilityBoundingSet="} <= lines
    assert [line for line in lines if line.startswith(("ReadWrite", "BindPaths"))] == [
        "ReadWritePaths=/var/lib/stripewright -/var/spool/stripewright-drift"
    ]
    assert {"DevicePolicy=closed", "SuccessExitStatus=5"} <= lines
    root = unit("stripewright-look.service")
    assert {"ProtectSystem=strict", "ReadWritePaths=/run", "DeviceAllow=block-* r"} <= root
    assert not any(line.startswith("DeviceAllow=block") and line.endswith("w") for line in root)
    assert "User=" not in "".join(root)
    assert "OnFailure=stripewright-notice@%N.service" in root


def test_findings_do_not_fail_the_unit_and_failures_are_told() -> None:
    from appliance.errors import EXIT_DRIFT

    lines = unit("stripewright-drift.service")
    assert f"SuccessExitStatus={EXIT_DRIFT}" in lines
    assert "OnFailure=stripewright-notice@%N.service" in lines
    # An operator's word, seconds after another look, is not refused.
    assert "StartLimitIntervalSec=0" in lines


@pytest.mark.parametrize("name", ["look", "drift"])
def test_a_child_that_waits_for_a_dead_disk_holds_up_no_look(name: str) -> None:
    """Without it systemd waits three minutes for what cannot be killed (appliance.system.child),
    and so does the next look, which is ordered behind it.
    """
    assert {"KillMode=process", "TasksMax=64"} <= unit(f"stripewright-{name}.service")


def test_the_mounts_of_the_machine_can_be_seen_by_who_looks_at_them() -> None:
    """/proc/1/mountinfo: in a unit of its own each mount is read-only, and stays as it was."""
    for name in ("drift", "watch", "look"):
        text = (SYSTEMD / f"stripewright-{name}.service").read_text()
        assert not re.search(r"^(ProtectProc|ProcSubset)=", text, re.M)


def test_a_look_comes_by_the_timer_after_each_run_and_by_events() -> None:
    assert "Unit=stripewright-drift.service" in unit("stripewright-drift.timer")
    after = "ExecStopPost=-+/usr/bin/systemctl --no-block start stripewright-drift.service"
    assert after in unit("stripewright-bench@.service")
    assert after in unit("stripewright-confirm.service")
    drift = unit("stripewright-drift.service")
    assert {"Wants=stripewright-look.service", "After=stripewright-look.service"} <= drift
    # Not behind the boot unit, which may be at work for an hour.
    assert not any("assemble" in line for line in drift if not line.startswith("#"))


@pytest.mark.parametrize("name", ["drift", "bench@smoke", "bench@full", "bench@"])
def test_a_fleet_does_not_do_it_in_the_same_second(name: str) -> None:
    lines = unit(f"stripewright-{name}.timer")
    assert "FixedRandomDelay=yes" in lines
    # The template's delay comes with its times.
    assert name == "bench@" or any(line.startswith("RandomizedDelaySec=") for line in lines)


def test_what_is_to_be_confirmed_is_begun_once() -> None:
    (wanted,) = re.findall(
        r"^PathExists=(.+)$", (SYSTEMD / "stripewright-confirm.path").read_text(), re.M
    )
    assert Path(wanted) == paths.CONFIRM_WANTED
    # However the program ends, the path is gone before it began.
    assert f"ExecStartPre=/usr/bin/rm -f {wanted}" in unit("stripewright-confirm.service")


@pytest.mark.parametrize("name", ["confirm", "acceptance"])
def test_what_measures_does_it_as_a_suite_does(name: str) -> None:
    ours = {"RuntimeMaxSec=2h", "Type=exec"}
    sandbox = {
        line
        for line in unit("stripewright-bench@.service")
        if line and not line.startswith(("#", "[", "Exec", "On", "Description=", "CollectMode="))
    }
    if name == "acceptance":
        # Ended by a signal instead: test_no_job_of_an_operator_has_a_power_off_refused.
        ours = ours | {"StopPropagatedFrom=stripewright-assemble.service"}
        script = UNITS.parent / "mkosi.extra/usr/lib/stripewright/release-volumes"
        assert "acceptance=stripewright-acceptance.service" in script.read_text()
    assert sandbox - ours <= unit(f"stripewright-{name}.service")


def test_a_scheduled_run_waits_for_its_turn_and_not_for_ever() -> None:
    text = (SYSTEMD / "stripewright-bench@.service").read_text()
    (minutes,) = re.findall(r"^ExecStart=.* --wait (\d+)$", text, re.M)
    (hours,) = re.findall(r"^RuntimeMaxSec=(\d+)h$", text, re.M)
    # An hour of measuring has room behind the wait.
    assert 10 <= int(minutes) <= int(hours) * 60 - 75


def test_the_schedule_is_roots_to_write_and_changes_nothing_else() -> None:
    for name in ("schedule", "schedule@"):
        lines = unit(f"stripewright-{name}.service")
        assert {"ProtectSystem=strict", "PrivateDevices=yes", "NoNewPrivileges=yes"} <= lines
        (writes,) = [line for line in lines if line.startswith("ReadWritePaths=")]
        allowed = {"/etc/stripewright", "/etc/systemd/system", "/run/stripewright",
                   "-/var/spool/stripewright"}  # fmt: skip
        assert set(writes.partition("=")[2].split()) <= allowed
    # It runs where there is something to bring into effect, or to take back.
    conditions = {line for line in unit("stripewright-schedule.service") if "Condition" in line}
    assert conditions == {
        f"ConditionPathExists=|{paths.SCHEDULE_FILE}",
        f"ConditionPathExistsGlob=|{paths.UNIT_DIR}/stripewright*.d/{DROP_IN}",
        f"ConditionPathExists=|{paths.SCHEDULE_STATE}",
    }
    # A path whose unit is started too often fails, and notices nothing any more.
    assert "StartLimitIntervalSec=0" in unit("stripewright-schedule.service")
    (changed,) = re.findall(
        r"^PathChanged=(.+)$", (SYSTEMD / "stripewright-schedule.path").read_text(), re.M
    )
    assert Path(changed) == paths.SCHEDULE_FILE
    assert {one.parent for one in (paths.UNIT_DIR / "x", paths.SCHEDULE_FILE)} == {
        Path("/etc/systemd/system"), Path("/etc/stripewright"),
    }  # fmt: skip


def test_the_spools_are_made_as_they_are_read() -> None:
    lines = (UNITS / "tmpfiles/stripewright.conf").read_text().splitlines()
    assert f"d {paths.SPOOL_DIR} 1730 root stripewright-operators 1d" in lines
    assert f"d {paths.DRIFT_SPOOL_DIR} 1730 stripewright stripewright-operators 1d" in lines
    folder = unit("stripewright-drift.service")
    assert f"RuntimeDirectory={paths.DRIFT_RUN_DIR.name}" in folder
    assert "RuntimeDirectoryPreserve=yes" in folder


def test_what_must_not_hold_up_a_shutdown_requires_no_mount() -> None:
    # A mount conflicts with shutdown, and the stop of what is required is one of both.
    mounts = [re.findall(r"^Where=(.+)$", path.read_text(), re.M)[0]
              for path in SYSTEMD.glob("*.mount")]  # fmt: skip
    assert "/var/spool" in mounts
    for path in SYSTEMD.glob("stripewright-*.service"):
        text = path.read_text()
        if "\nDefaultDependencies=no\n" in text:
            required = re.findall(r"^RequiresMountsFor=(.+)$", text, re.M)
            assert not [one for one in required if one.startswith(tuple(mounts))], path.name


def test_the_executors_may_write_the_audit_and_find_its_directory() -> None:
    lines = (UNITS / "tmpfiles/stripewright.conf").read_text().splitlines()
    assert "d /var/lib/stripewright-audit 0700 root root -" in lines
    for name in ("assemble", "apply@"):
        assert "ReadWritePaths=-/var/lib/stripewright-audit" in unit(f"stripewright-{name}.service")


def test_metrics_are_served_only_where_they_are_asked_for() -> None:
    assert preset("stripewright-metrics.socket") == "disable"
    # Without the directory of the collector the timer does nothing.
    assert preset("stripewright-textfile.timer") == "enable"
    (folder,) = re.findall(
        r"^ConditionPathIsDirectory=(.+)$",
        (SYSTEMD / "stripewright-textfile.timer").read_text(),
        re.M,
    )
    lines = unit("stripewright-textfile.service")
    assert f"ExecCondition=/usr/bin/test -w {folder}" in lines
    assert (
        f"ExecStart=/usr/bin/stripewright export metrics --output {folder}/stripewright.prom"
        in lines
    )
    assert {line for line in lines if line.startswith("ReadWritePaths=")} == {
        f"ReadWritePaths=-{folder}"
    }


def test_who_answers_the_network_reads_and_no_more() -> None:
    lines = unit("stripewright-metrics@.service")
    assert {
        "User=stripewright-metrics", "PrivateNetwork=yes", "ProtectSystem=strict",
        "CapabilityBoundingSet=", "DevicePolicy=closed", "StandardInput=socket",
    } <= lines  # fmt: skip
    # What it prints does not go to whoever asked, and nothing lasts longer than a request may.
    assert {"StandardOutput=journal", "StandardError=journal", "RuntimeMaxSec=30s"} <= lines
    assert not any(line.startswith("ReadWritePaths=") for line in lines)
    socket = unit("stripewright-metrics.socket")
    assert "Accept=yes" in socket
    assert any(line.startswith("MaxConnections=") for line in socket)
    # A flood must not end it for good.
    assert "TriggerLimitIntervalSec=0" in socket


def test_the_page_on_monitoring_names_the_port_and_the_file() -> None:
    page = (UNITS.parent / "docs/monitoring.md").read_text()
    (port,) = re.findall(
        r"^ListenStream=(\d+)$", (SYSTEMD / "stripewright-metrics.socket").read_text(), re.M
    )
    assert f":{port}" in page
    assert f"dport {port} accept" in page
    assert "/var/lib/prometheus/node-exporter" in page
