"""Commands are found by their modules, and say how they are used."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from appliance import cli
from appliance.cli.command import Command, parse
from appliance.cli.main import commands, main

ALL = {command.name: command for command in commands()}
LISTED = [command for command in ALL.values() if command.summary]


def test_a_command_is_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "toy.py").write_text(
        "from appliance.cli.command import Command\n"
        "def arguments(parser):\n"
        "    parser.add_argument('--times', type=int, default=1, help='how often')\n"
        "def toy(*, times):\n"
        "    print('toy ' * times)\n"
        "    return 7\n"
        "COMMANDS = (Command('toy', toy, 'play', 'toy --times 2', arguments, json=False),)\n"
    )
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "appliance.cli.toy", raising=False)
    assert main(["toy", "--times", "2"]) == 7
    assert capsys.readouterr().out == "toy toy \n"
    with pytest.raises(SystemExit):
        main(["--help"])
    assert re.search(r"toy +play", capsys.readouterr().out)
    del sys.modules["appliance.cli.toy"]


def test_every_command_is_found_by_its_first_word() -> None:
    for name, command in ALL.items():
        first = name.split()[0]
        assert command in commands(first)
        if first in {"status", "assemble", "drift", "plan-request"}:
            assert len(commands(first)) < 10


def test_no_name_is_there_twice() -> None:
    names = [command.name for command in commands()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("command", LISTED, ids=lambda command: command.name)
def test_the_help_has_an_example_that_can_be_given(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.name.split(), "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert f"Example: stripewright {command.example}" in " ".join(out.split())
    asked = parse(shlex.split(command.example), ALL.values()).command
    assert asked.run is not None
    if command.run is not None:
        assert asked is command


@pytest.mark.parametrize("command", LISTED, ids=lambda command: command.name)
def test_every_argument_is_explained(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    from appliance.cli.command import parser

    action = parser(ALL.values())
    for word in command.name.split():
        (group,) = (one for one in action._actions if one.nargs == "A...")
        assert isinstance(group.choices, dict)
        action = group.choices[word]
    assert [one.dest for one in action._actions if not one.help and one.nargs != "A..."] == []


@pytest.mark.parametrize(
    "name", [command.name for command in ALL.values() if command.root and not command.summary]
)
def test_roots_side_is_for_root(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    words = [name, "x"] if name.endswith(("-request", "-dir")) else [name]
    assert main(words) == 1
    assert "only root" in capsys.readouterr().err


def test_a_group_without_an_action_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule"]) == 2
    assert capsys.readouterr().err == (
        "error: schedule: no action given; choose from: set, show\n"
        "hint: try: stripewright schedule show\n"
    )


DOCS = Path(__file__).parents[2]
# At a prompt, or as README has it; what is behind two blanks, or a #, is not typed.
_SHOWN = re.compile(r"^(?:\$ |venv/bin/|)stripewright( .+?)?(?:  +.*)?(?: *#.*)?$", re.M)
SHOWN = [
    (name, words)
    for name in ("README.md", "docs/operator-guide.md", "docs/drift.md", "docs/layout.md")
    for words in re.findall(r"```\n(.*?)```", (DOCS / name).read_text(), re.S)
    for words in _SHOWN.findall(words)
]


def test_commands_are_found_in_the_docs() -> None:
    assert len(SHOWN) > 20
    assert {name for name, _ in SHOWN} >= {"README.md", "docs/operator-guide.md", "docs/drift.md"}


@pytest.mark.parametrize(("name", "words"), SHOWN)
def test_a_command_that_the_docs_show_can_be_given(name: str, words: str) -> None:
    del name
    assert parse(shlex.split(words) or ["tui"], ALL.values()).command.summary
