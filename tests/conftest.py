"""For every test: starting a program is an error, unless the test's rung may do so."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# A fifth of the screens' time went into looking for garbage among what lives as long as they do.
gc.set_threshold(50_000, 20, 100)

# HYPOTHESIS_PROFILE=nightly is what `make soak` runs.
settings.register_profile("default", max_examples=150, deadline=None)
settings.register_profile("nightly", max_examples=20_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell starts what runs in its background with SIGINT ignored, and children inherit that: the
# tests that interrupt a run would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_TESTS = Path(__file__).parent
# The rungs that run the real thing (docs/architecture.md); all others are pure.
_MAY_START_PROGRAMS = (
    "fio", "mkfs", "shell", "lab", "image", "rig", "browser", "monitoring", "ansible",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    rung = request.path.relative_to(_TESTS).parts[0]
    if rung in _MAY_START_PROGRAMS:
        return

    def refuse(argv: object, *_: object, **__: object) -> None:
        raise AssertionError(f"a unit test tried to start a program: {argv}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
