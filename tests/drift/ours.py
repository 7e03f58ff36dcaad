"""The detector under judgement, in the form that :mod:`tests.drift.measuring` takes."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.drift.detection.detector import detect


def ours(values: Sequence[float]) -> list[tuple[int, int]]:
    return [(change.alarm_slot, change.change_slot) for change in detect(enumerate(values)).changes]
