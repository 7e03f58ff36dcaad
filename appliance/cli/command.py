"""What a command is, and the parser made of commands.

A module of this package that has ``COMMANDS`` adds those to ``stripewright``; nothing else has to
be told of it. ``--help`` imports all of them, so that none imports at its top what takes long: only
the light part of the standard library, ``errors``, ``paths``, ``text`` and other modules of this
package. What does the work is imported by the function that does it.
"""

from __future__ import annotations

import argparse
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from appliance import __version__, paths
from appliance.errors import EXIT_USAGE
from appliance.text import printable

# An id that a command line names: SQLite's integers have 63 bits.
_ID_DIGITS = 18


class Command(NamedTuple):
    """A command, an action of one (``drift check``), or, without ``run``, a group of actions.

    ``run`` gets the options by their names and returns the exit status. ``example`` is what follows
    ``stripewright``. A command of units has no ``summary``: no help lists it, and it has no --json.
    """

    name: str
    run: Callable[..., int] | None
    summary: str = ""
    example: str = ""
    arguments: Callable[[ArgumentParser], None] | None = None
    more: str = ""
    json: bool = True
    db: bool = False
    root: bool = False


class Asked(NamedTuple):
    """What was typed: a command and the options for its ``run``; of a group its actions."""

    command: Command
    options: Mapping[str, object]
    actions: Collection[str]


class _Parser(ArgumentParser):
    """An argument parser whose errors are one line and a hint, like every other error."""

    def error(self, message: str) -> NoReturn:
        complain(message, f"see: {self.prog} --help")
        raise SystemExit(EXIT_USAGE)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Of the commands only those that the help lists: the others are for units."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            what = str(action.metavar).lower()
            listed = [name for name, sub in action.choices.items() if sub.description]
            raise argparse.ArgumentError(
                None, f"there is no {what} {value!r}; choose from: {', '.join(listed)}"
            )
        super()._check_value(action, value)


if TYPE_CHECKING:
    _Group = argparse._SubParsersAction[_Parser]


def complain(message: str, hint: str) -> None:
    """One line on stderr that says what is wrong, and one with what to do about it."""
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    if hint:
        print(f"hint: {printable(' '.join(hint.split()))}", file=sys.stderr)


def parser(commands: Iterable[Command], *, names_only: bool = False) -> ArgumentParser:
    """What parses ``commands``: leaves the one that was given in ``command``.

    With ``names_only`` it is good for the list of commands alone, and made sooner.
    """
    top = _Parser(
        prog="stripewright",
        description="Local disks of a cloud machine: striped, measured, watched.",
        epilog="Without a command: the screens on a terminal, 'status' elsewhere.",
    )
    top.add_argument("--version", action="version", version=f"stripewright {__version__}")
    top.add_argument("--json", action="store_true", dest="as_json", help="print one JSON document")
    groups: dict[str, _Group] = {
        "": top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    }
    for one in sorted(commands, key=lambda command: command.name):
        group, _, name = one.name.rpartition(" ")
        if names_only:
            if one.summary and not group:
                groups[""].add_parser(name, help=one.summary, add_help=False)
            continue
        sub = _add(groups[group], name, one)
        if one.run is None:
            groups[one.name] = sub.add_subparsers(title="actions", metavar="ACTION")
    return top


def _add(group: _Group, name: str, command: Command) -> _Parser:
    words = f"{command.summary[:1].upper()}{command.summary[1:]}. {command.more}".strip()
    if command.summary:
        example = f"Example: stripewright {command.example}" if command.example else None
        sub = group.add_parser(name, help=command.summary, description=words, epilog=example)
    else:
        sub = group.add_parser(name)
    if command.arguments is not None:
        command.arguments(sub)
    if command.db:
        sub.add_argument(
            "--db",
            type=Path,
            default=paths.HISTORY_DB,
            metavar="FILE",
            help=f"history database (default: {paths.HISTORY_DB})",
        )
    if command.json and command.summary and command.run:
        # Before or after the command's name: with a default here the first would be forgotten.
        sub.add_argument(
            "--json",
            action="store_true",
            dest="as_json",
            default=argparse.SUPPRESS,
            help="print one JSON document",
        )
    sub.set_defaults(command=command, options=[action.dest for action in sub._actions])
    return sub


def parse(words: Iterable[str], commands: Iterable[Command], *, names_only: bool = False) -> Asked:
    """What ``words`` ask for. Ends the process for ``--help`` and for what cannot be parsed."""
    words, commands = list(words), list(commands)
    given = vars(parser(commands, names_only=names_only).parse_args(words))
    command: Command = given.pop("command")
    names = given.pop("options")
    prefix = f"{command.name} "
    return Asked(
        command,
        {name: value for name, value in given.items() if name in names},
        sorted(one.name.removeprefix(prefix) for one in commands if one.name.startswith(prefix)),
    )


# ------------------------------------------------------------------------------- arguments


def name_argument(parser: ArgumentParser) -> None:
    """What units name: a volume, or a request by its hash."""
    parser.add_argument("name")


def number_of(what: str) -> Callable[[str], int]:
    """The type of an argument that is the number of ``what``: ``a run``, ``a finding``."""

    def parse_id(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or len(text) > _ID_DIGITS:
            raise argparse.ArgumentTypeError(f"{text!r} is not the number of {what}")
        return int(text)

    return parse_id


def volume_name(text: str) -> str:
    from appliance.model.plans import VOLUME_NAME

    if not re.fullmatch(VOLUME_NAME, text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a volume")
    return text
