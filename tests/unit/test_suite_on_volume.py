"""``bench run smoke:data``: which suite, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.bench import fingerprint, runner
from appliance.bench.runner import Target
from appliance.cli.main import main
from appliance.errors import EXIT_USAGE
from appliance.model.runs import Suite
from appliance.system import services


class _OpenedError(Exception):
    """The run begins: all that was decided before is in it."""


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_suite(suite: Suite, *, target: Target, **_: object) -> int:
        raise _OpenedError(suite.name, str(target.path))

    monkeypatch.setattr(runner, "run_suite", run_suite)
    monkeypatch.setattr(fingerprint, "default_target", lambda: Path("/mnt/first"))
    monkeypatch.setattr(fingerprint, "target_on", lambda volume: Path("/mnt") / volume)


def opened(words: str, *options: str) -> tuple[str, str]:
    with pytest.raises(_OpenedError) as caught:
        main(["bench", "run", words, *options, "--db", "none", "--progress", "json"])
    suite, target = caught.value.args
    return suite, target


def test_a_suite_runs_on_the_volume_that_is_named() -> None:
    assert opened("smoke") == ("smoke", "/mnt/first")
    assert opened("smoke:data") == ("smoke", "/mnt/data")
    assert opened("smoke", "--target", "/srv") == ("smoke", "/srv")


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
    ("words", "options", "said"),
    [
        ("smoke:", [], "no volume is named"),
        ("smoke:data", ["--target", "/srv"], "do not go together"),
        ("smoke:data", ["--raw-read", "/dev/x"], "do not go together"),
        ("smoke:data", ["--raw-write", "/dev/x", "--serial", "S"], "do not go together"),
        ("nosuch:data", [], "no suite called 'nosuch'"),
        (":data", [], "no suite called ''"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    words: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "run", words, *options, "--db", "none"]) == EXIT_USAGE
    assert said in capsys.readouterr().err
