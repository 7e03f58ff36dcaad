"""The detector under judgement, in the form that :mod:`tests.drift.measuring` takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appliance.drift.detection.detector import Detector
from appliance.drift.detection.normal import Point


def detect(points: Iterable[Point]) -> Detector:
    """The detector after all of ``points``, in the order of their slots."""
    detector = Detector()
    for slot, value in points:
        detector.add(slot, value)
    return detector


def ours(values: Sequence[float]) -> list[tuple[int, int]]:
    return [(change.alarm_slot, change.change_slot) for change in detect(enumerate(values)).changes]
