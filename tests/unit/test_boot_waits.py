"""How long the boot waits for more disks where nothing says how many there are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from appliance.model.plans import Decision
from appliance.storage.execute import boot


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def _looks(
    monkeypatch: pytest.MonkeyPatch, look_seconds: float, *, told_after_seconds: float
) -> list[float]:
    """When the boot looks at the disks; cloud-init tells the type after that time."""
    clock = Clock()
    looks: list[float] = []

    class Events:
        def wait(self, seconds: float) -> bool:
            clock.now += seconds
            return False

    class Loop(boot.BootLoop):
        def __init__(self) -> None:
            volume = SimpleNamespace(name="v", patience_seconds=60.0, wait_seconds=None)
            self._layout: Any = SimpleNamespace(volumes=(volume,), volume_names=("v",))
            self._kernel: Any = None
            self._started = self._quiet_since = self._type_until = 0.0
            self._first = {}
            self._finalizer: Any = SimpleNamespace(
                looking=lambda *_: None,
                waiting=lambda *_: None,
                told=lambda *_: None,
                settle=lambda *_, **__: 0,
            )

        def _look(self) -> Any:
            looks.append(clock.now)
            clock.now += look_seconds
            one = SimpleNamespace(decision=Decision.WAIT, reading=False, settles=True, name="v")
            return SimpleNamespace(inventory=None, late=None, plan=None, of=lambda *_: one)

        def _judge(self, look: Any, volumes: Any) -> None:
            volumes.pending -= volumes.settled

        def _act(self, look: Any, volumes: Any) -> bool:
            return False

    monkeypatch.setattr(boot, "time", clock)
    monkeypatch.setattr(boot, "events", SimpleNamespace(BlockEvents=Events, settle=lambda *_: None))
    monkeypatch.setattr(boot, "stopping", SimpleNamespace(asked=lambda: False))
    due = SimpleNamespace(type_is_due=lambda: clock.now < told_after_seconds)
    monkeypatch.setattr(boot, "machine", due)
    Loop().run()
    return looks


@pytest.mark.parametrize("look_seconds", [1.0, 4.0, 6.0])
def test_it_is_quiet_for_long_enough_after_the_last_disk(
    monkeypatch: pytest.MonkeyPatch, look_seconds: float
) -> None:
    """Also after one that came in the first look, before anything listened for disks."""
    looks = _looks(monkeypatch, look_seconds, told_after_seconds=0)
    assert looks[-1] - (look_seconds - 0.1) >= boot._SETTLE_SECONDS


def test_nothing_is_decided_before_the_type_could_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = _looks(monkeypatch, 1.0, told_after_seconds=40)
    # A look at what was told, and the quiet from there.
    assert any(40 <= one < 42 for one in looks)
    assert looks[-1] >= 40 + boot._SETTLE_SECONDS


def test_a_type_that_is_never_told_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = _looks(monkeypatch, 1.0, told_after_seconds=10_000)
    assert 90 + boot._SETTLE_SECONDS <= looks[-1] < 120
