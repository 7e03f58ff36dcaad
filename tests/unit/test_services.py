"""What systemctl prints, read; the image tests ask the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.errors import CommandFailed, OperatorError, Refused
from appliance.system import process, services

TIMER = "stripewright-bench@smoke.timer"


@pytest.fixture
def systemctl(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Answers, first to last: a text to print or an exception to raise."""
    answers: list[object] = []

    def run(argv: list[str], **_: object) -> process.Completed:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return process.Completed(tuple(argv), 0, str(answer), "")

    monkeypatch.setattr(process, "run", run)
    return answers


def test_a_unit_state_is_read_and_a_missing_unit_is_inactive(systemctl: list[object]) -> None:
    systemctl += ["Result=success\nActiveState=activating\nSubState=start\n", "\n"]
    assert services.unit_state("x.service").busy
    assert services.unit_state("y.service").active == "inactive"


@pytest.mark.parametrize(
    ("job", "busy"), [("Job=4711\n", True), ("Job=0\n", False), ("Job=\n", False), ("", False)]
)
def test_a_unit_whose_job_waits_for_another_is_busy(
    systemctl: list[object], job: str, busy: bool
) -> None:
    systemctl.append(f"Result=success\nActiveState=inactive\nSubState=dead\n{job}")
    assert services.unit_state("x.service").busy is busy


@pytest.mark.parametrize(
    ("printed", "at"),
    [
        (f'[{{"next":1795248000000000,"last":0,"unit":"{TIMER}","activates":"s"}}]', 1795248000.0),
        (f'[{{"next":0,"unit":"{TIMER}"}}]', None),
        (f'[{{"next":null,"unit":"{TIMER}"}}]', None),
        ('[{"next":1795248000000000,"unit":"other.timer"}]', None),
        ("[]", None),
        ("", None),
    ],
)
def test_the_next_run_is_read_in_seconds(
    systemctl: list[object], printed: str, at: float | None
) -> None:
    systemctl.append(printed)
    assert services.next_elapse(TIMER) == at


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Failed to start x: Interactive authentication required.", Refused),
        ("Failed to start x: Access denied", Refused),
        ("Failed to start x: Unit x not found.", OperatorError),
    ],
)
def test_what_systemd_refuses_is_told_apart_from_what_fails(
    systemctl: list[object], said: str, kind: type[OperatorError]
) -> None:
    systemctl.append(CommandFailed(["systemctl"], 1, said))
    with pytest.raises(OperatorError) as caught:
        services.start_unit("x.service")
    assert type(caught.value) is kind
    assert caught.value.hint


def test_a_suites_unit_names_the_volume_if_it_is_not_the_first() -> None:
    assert services.bench_unit("smoke") == "stripewright-bench@smoke.service"
    assert services.bench_unit("full", "data-2") == "stripewright-bench@full:data-2.service"


@pytest.mark.parametrize(
    ("groups", "unit"),
    [
        (
            "0::/system.slice/system-stripewright\\x2dbench.slice/"
            "stripewright-bench@smoke:data.service\n",
            "stripewright-bench@smoke:data.service",
        ),
        ("1:name=systemd:/x.service\n0::/system.slice/y.service\n", "y.service"),
        ("0::/user.slice/user-1000.slice/session-4.scope\n", ""),
        ("", ""),
    ],
)
def test_the_unit_of_a_process_is_read_from_its_control_group(
    tmp_path: Path, groups: str, unit: str
) -> None:
    (tmp_path / "812").mkdir()
    (tmp_path / "812" / "cgroup").write_text(groups)
    assert services.unit_of_process(812, tmp_path) == unit
    assert services.unit_of_process(813, tmp_path) == ""
