"""``bench run smoke:data``: which suite, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.bench import runner
from appliance.bench.runner import Target
from appliance.cli import bench_run
from appliance.errors import UsageError
from appliance.model import Suite
from appliance.system import services


class _OpenedError(Exception):
    """The run begins: all that was decided before is in it."""


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_suite(suite: Suite, *, target: Target, **_: object) -> int:
        raise _OpenedError(suite.name, str(target.path))

    monkeypatch.setattr(runner, "run_suite", run_suite)
    monkeypatch.setattr(runner, "default_target", lambda: Path("/mnt/first"))
    monkeypatch.setattr(runner, "target_on", lambda volume: Path("/mnt") / volume)


def ask(words: str, asked: bench_run.Asked | None = None) -> None:
    bench_run.run(
        words,
        asked or bench_run.Asked(),
        db=Path("none"),
        time_factor=1.0,
        as_json=False,
        progress="json",
        wait_seconds=0.0,
    )


def opened(words: str, asked: bench_run.Asked | None = None) -> tuple[str, str]:
    with pytest.raises(_OpenedError) as caught:
        ask(words, asked)
    suite, target = caught.value.args
    return suite, target


def test_a_suite_runs_on_the_volume_that_is_named() -> None:
    assert opened("smoke") == ("smoke", "/mnt/first")
    assert opened("smoke:data") == ("smoke", "/mnt/data")
    assert opened("smoke", bench_run.Asked(target="/srv")) == ("smoke", "/srv")


def test_units_and_commands_name_a_suite_on_a_volume_alike() -> None:
    instance = services.bench_unit("smoke", "data").partition("@")[2].removesuffix(".service")
    assert opened(instance) == ("smoke", "/mnt/data")


def test_a_file_of_a_suite_may_have_a_colon_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "smoke:data"
    folder.mkdir()
    (folder / "mine.toml").write_text(
        'summary = "s"\n[[job]]\nname = "only"\nrw = "read"\nblock_size = "4KiB"\n'
        "iodepth = 1\njobs = 1\nruntime_seconds = 1\n"
    )
    assert opened(str(folder / "mine.toml")) == ("mine", "/mnt/first")


@pytest.mark.parametrize(
    ("words", "asked", "said"),
    [
        ("smoke:", bench_run.Asked(), "no volume is named"),
        ("smoke:data", bench_run.Asked(target="/srv"), "do not go together"),
        ("smoke:data", bench_run.Asked(raw_read="/dev/x"), "do not go together"),
        ("smoke:data", bench_run.Asked(raw_write="/dev/x", serial="S"), "do not go together"),
        ("nosuch:data", bench_run.Asked(), "no suite called 'nosuch'"),
        (":data", bench_run.Asked(), "no suite called ''"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: str, asked: bench_run.Asked, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(words, asked)
