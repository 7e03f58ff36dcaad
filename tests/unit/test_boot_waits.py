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


@pytest.mark.parametrize("look_seconds", [1.0, 4.0, 6.0])
def test_it_is_quiet_for_long_enough_after_the_last_disk(
    monkeypatch: pytest.MonkeyPatch, look_seconds: float
) -> None:
    """Also after one that came in the first look, before anything listened for disks."""
    clock = Clock()
    looks: list[float] = []
    came_at = look_seconds - 0.1

    class Events:
        def wait(self, seconds: float) -> bool:
            clock.now += seconds
            return False

    class Loop(boot.BootLoop):
        def __init__(self) -> None:
            volume = SimpleNamespace(name="v", patience_seconds=60.0, wait_seconds=None)
            self._layout: Any = SimpleNamespace(volumes=(volume,), volume_names=("v",))
            self._kernel: Any = None
            self._quiet_since = 0.0
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
    Loop().run()
    assert looks[-1] - came_at >= boot._SETTLE_SECONDS
