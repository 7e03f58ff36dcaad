"""Completion and man pages, in the shells and readers themselves where they are installed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from appliance.cli import shell_files
from appliance.cli.main import commands

LISTED = [command for command in commands() if command.summary]
BASH = "bash-completion/completions/stripewright"
ZSH = "zsh/vendor-completions/_stripewright"
FISH = "fish/vendor_completions.d/stripewright.fish"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    share = tmp_path_factory.mktemp("share")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        assert shell_files.main([str(share)]) == 0
    return share


def run(*argv: str, cwd: Path | None = None) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run(argv, capture_output=True, text=True, cwd=cwd, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(share: Path, folder: Path, *words: str) -> list[str]:
    script = (
        f"source {share / BASH}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1};"
        ' _stripewright; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return sorted(run("bash", "--norc", "-c", script, cwd=folder).split())


CASES = [
    (["sta"], ["status"]),
    (["drift", "a"], ["accept", "ack", "approve"]),
    (["--json", "drift", "s"], ["show"]),
    (["bench", "run", "--t"], ["--target", "--time-factor"]),
    (["bench", "run", "smo"], ["smoke"]),
    (["bench", "run", "smoke", "--progress", ""], ["json"]),
    (["tui", "--theme", "l"], ["light"]),
    (["export", "m"], ["metrics"]),
    (["results", "--suite", "laten"], ["latency-probe"]),
    (["bench", "run", "smoke", "--target", "da"], ["data"]),
    (["status", "--db", "his"], ["history.db"]),
    (["drift", "ack", "7", "--note", "sh"], []),
    (["tune"], []),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "dates").touch()
    (tmp_path / "history.db").touch()
    return tmp_path


@pytest.mark.parametrize(("words", "found"), CASES, ids=lambda one: " ".join(one) or "-")
def test_bash_completes(share: Path, folder: Path, words: list[str], found: list[str]) -> None:
    assert in_bash(share, folder, "stripewright", *words) == found


@pytest.mark.parametrize(("words", "found"), CASES, ids=lambda one: " ".join(one) or "-")
def test_fish_completes(share: Path, folder: Path, words: list[str], found: list[str]) -> None:
    line = f"stripewright {' '.join(words)}"
    out = run("fish", "-N", "-c", f"source {share / FISH}; complete -C {line!r}", cwd=folder)
    names = [offered.split("\t")[0].rstrip("/") for offered in out.splitlines()]
    assert sorted(names) == found


def test_zsh_reads_it(share: Path) -> None:
    run("zsh", "-f", "-n", str(share / ZSH))


def test_zsh_has_every_command_and_option(share: Path) -> None:
    text = (share / ZSH).read_text()
    for command in LISTED:
        function = "_".join(["_stripewright", *command.name.split()])
        assert text.count(f"\n{function}() {{\n") == 1
        last = command.name.split()[-1]
        assert f"'{last}:" in text
    assert "'--theme[" in text
    assert ":dark|light|terminal:(dark light terminal)'" in text
    assert "'*--erase[" in text


def test_there_is_a_page_for_each_command(share: Path) -> None:
    pages = {path.name for path in (share / "man/man1").iterdir()}
    tops = {command.name.split()[0] for command in LISTED}
    assert pages == {"stripewright.1", *(f"stripewright-{name}.1" for name in tops)}
    for command in LISTED:
        text = (share / f"man/man1/stripewright-{command.name.split()[0]}.1").read_text()
        assert f"stripewright {command.example}".replace("-", "\\-") in text


def test_the_pages_are_well_formed(share: Path) -> None:
    for page in sorted((share / "man/man1").iterdir()):
        assert run("mandoc", "-Tlint", "-W", "warning", str(page)) == ""


def test_man_shows_a_page(share: Path) -> None:
    page = run("man", "-l", str(share / "man/man1/stripewright-bench.1"))
    assert "--time-factor F" in page
    assert "scale every run time by F" in page


def test_two_builds_are_the_same(
    share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    shell_files.main([str(tmp_path)])
    for path in share.rglob("*"):
        if path.is_file():
            assert (tmp_path / path.relative_to(share)).read_bytes() == path.read_bytes()
