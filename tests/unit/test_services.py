"""What systemctl prints, read; the image tests ask the real one."""

from __future__ import annotations

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
