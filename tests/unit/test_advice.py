"""Every command that a message names can be given, as it stands there, by the one who reads it."""

from __future__ import annotations

import argparse
import ast
import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import paths
from appliance.bench import raw_device
from appliance.cli.command import parser
from appliance.cli.main import commands as all_commands
from appliance.errors import OperatorError
from appliance.model import advice

ROOT = Path(__file__).parents[2]
# To its end, or to what ends a clause.
_COMMAND = re.compile(r"(?<![\w/.@=-])stripewright ([a-z<-][^;,()'\n]*)")
# Not commands: a journalctl -t stripewright, and prose.
_PROSE = re.compile(
    r"(?:is|leads|has|shows|--groups|<__version__>)\b|<__version__>|<command.example>"
)
_WRITES_AS_ITS_CALLER = ("bench run", "bench reap", "bench import")


def text_of(node: ast.expr) -> str | None:
    """The text of an expression, with ``<name>`` for what is filled in; ``None`` if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else f"<{ast.unparse(one.value)}>"
            for one in node.values
            if isinstance(one, (ast.Constant, ast.FormattedValue))
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None or right is None else left + right
    return None


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text in ``tree``, joined as it is there, without docstrings."""
    if isinstance(tree, ast.expr) and (found := text_of(tree)) is not None:
        yield found
        return
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        yield from texts(child)


def filled_in(text: str) -> str:
    """``text`` with what our own constants are for their names."""
    for name in ("MEMBERS_ALONE", "READING_DISKS"):
        text = re.sub(rf"<(?:advice\.)?{name}>", getattr(advice, name), text)
    for name, made in (
        ("run_suite", advice.run_suite),
        ("run_anywhere", advice.run_anywhere),
    ):
        text = re.sub(rf"<advice\.{name}\([^>]*\)>", made(), text)
    return text


def commands(text: str) -> Iterator[tuple[str, str]]:
    """What stands before a command, and the command's words."""
    text = " ".join(filled_in(text).replace("`", "'").split())
    for found in _COMMAND.finditer(text):
        words = found.group(1)
        if not _PROSE.match(words):
            yield text[: found.start()], words


def of_sources() -> Iterator[tuple[str, str, str]]:
    for folder in ("appliance", "tui"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if file.name == "shell_files.py":
                continue  # words of shells; examples have a test of their own
            for text in texts(ast.parse(file.read_text())):
                for before, words in commands(text):
                    yield str(file.relative_to(ROOT)), before, words


def of_docs() -> Iterator[tuple[str, str, str]]:
    """What the catalog and the page of findings say is to be done first: in sentences, of which as
    many words belong to a command as the parser takes.
    """
    for name, begins, ends in (
        ("units/catalog/stripewright.catalog", "\nFirst: ", "\n\n"),
        ("docs/drift.md", "\n- **First**: ", "\n- **"),
    ):
        for part in (ROOT / name).read_text().split(begins)[1:]:
            for before, words in commands(part.partition(ends)[0]):
                yield name, before, beginning(words)


def beginning(sentence: str) -> str:
    words = sentence.replace(". ", " . ").split()
    for count in range(len(words), 0, -1):
        command = " ".join(words[:count]).rstrip(" .:")
        with contextlib.suppress(SystemExit):
            parsed(command)
            return command
    return sentence


def parsed(words: str) -> argparse.Namespace:
    """As the real parser reads it, with something for what the reader is to fill in."""
    words = re.sub(r"<[^>]*\bid\b[^>]*>|\b(?:ID|A|B)\b|@\w+_FINDING@", "1", words)
    words = re.sub(r"<[^>]*digest[^>]*>", "0" * 64, words)
    words = re.sub(r"\bDIGEST\b", "0" * 64, re.sub(r"<[^>]*>", "smoke", words))
    given = PARSER.parse_args(shlex.split(words))
    assert isinstance(given, argparse.Namespace)
    return given


PARSER = parser(all_commands())
NAMED = sorted({*of_sources(), *of_docs()})


def test_the_commands_are_found() -> None:
    assert len(NAMED) > 70
    files = {file for file, _, _ in NAMED}
    assert {
        "appliance/drift/codes/performance_codes.py",
        "units/catalog/stripewright.catalog",
    } <= files
    said = list(commands(f"measure, {advice.MEMBERS_ALONE}; see 'stripewright status'"))
    assert [words for _, words in said] == ["bench run smoke --members", "status"]


@pytest.mark.parametrize(("file", "before", "words"), NAMED)
def test_a_command_that_a_message_names_can_be_given(file: str, before: str, words: str) -> None:
    try:
        given = parsed(words)
    except SystemExit as ended:
        assert "--help" in words, f"{file} names a command that is refused: {words}"
        assert ended.code == 0
        return
    command = given.command
    assert command.summary, f"{words}: for units only"
    if command.name not in _WRITES_AS_ITS_CALLER:
        return
    # On the appliance the history and the benchmark directory are the service user's, and its
    # directory is one that root does not write in either.
    as_service = re.search(f"as root: .?{advice.READING_DISKS} $", before) is not None
    own_place = given.db != paths.HISTORY_DB and (
        command.name != "bench run" or given.target is not None
    )
    assert as_service or own_place, f"{file}: who may run: {words}"
    assert as_service or not getattr(given, "members", False), "disks are root's and group disk's"


@pytest.mark.parametrize("line", ["bench run smoke", "bench run smoke --members", "bench reap"])
def test_what_would_be_refused_is_found_out(line: str) -> None:
    with pytest.raises(AssertionError, match="who may run"):
        test_a_command_that_a_message_names_can_be_given("x.py", "as root: ", line)


def test_who_may_not_open_a_disk_is_told_a_way_that_root_is_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As root alone, the history of the appliance would be refused, and the files of the stripe."""

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(raw_device.os, "open", refuse)
    with pytest.raises(OperatorError) as denied, raw_device.open_to_read(Path("/dev/nvme1n1")):
        pass
    assert f"as root: {advice.READING_DISKS} stripewright" in denied.value.hint
    monkeypatch.setattr(raw_device.os, "geteuid", lambda: 1000)
    with (
        pytest.raises(OperatorError) as denied,
        raw_device.open_to_overwrite(Path("/dev/nvme1n1"), "S"),
    ):
        pass
    assert "--db FILE" in denied.value.hint
