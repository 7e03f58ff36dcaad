"""The part of YAML that io_properties are written in, read strictly. Pure.

Block mappings and lists with plain or quoted scalars, one a line, as yaml.dump and Seastar's iotune
write them. All else is refused, and nothing is guessed (docs/decisions/0057-presets.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from appliance.model.toml_table import Document, shown
from appliance.presets.preset import MAX_LINES

_KEY = re.compile(r"""(["']?)([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\1:(?: +(.*))?""", re.ASCII)
_QUOTED = re.compile(r"""(["'])([^"'\\]*)\1""")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_NOT_PLAIN = re.compile(r"""[]&*!|>{}[%@`"'?,]|-(?: |$)|.*:(?: |$)""")
# A table in a list in a mapping, by number of disks: the deepest that there is has four.
_MAX_DEPTH = 6
_ALLOWED = "allowed: one 'key: value' or '- key: value' a line, indented with blanks"


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """A mapping, or a list, whose keys are ``[0]``, ``[1]`` and on."""

    line: int
    is_list: bool = False
    entries: dict[str, Scalar | Block] = field(default_factory=dict)

    def add(self, key: str, value: Scalar | Block) -> None:
        self.entries[key] = value

    @property
    def next_item(self) -> str:
        return f"[{len(self.entries)}]"


class _Open(NamedTuple):
    """A block that may go on, and how far its keys are indented."""

    indent: int
    block: Block


def parse(document: Document) -> Block:
    """The mapping that ``document`` is; :class:`UsageError` names the line of anything else."""
    lines = document.text.splitlines()
    if len(lines) > MAX_LINES:
        document.fail("file", f"more than {MAX_LINES:,} lines", "split it", MAX_LINES + 1)
    reader = _Reader(document)
    for number, line in enumerate(lines, start=1):
        reader.take(number, line)
    return reader.root


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self.root = Block(1)
        self._open = [_Open(0, self.root)]
        # A key whose value is in the lines below.
        self._waiting: Scalar | None = None

    def take(self, number: int, line: str) -> None:
        content = _COMMENT.sub("", line).rstrip(" ")
        bare = content.lstrip(" ")
        if not bare or (bare == "---" and not self.root.entries):
            return
        if "\t" in content:
            self._fail("a tab", number)
        indent = len(content) - len(bare)
        is_item = bare.startswith("- ")
        self._find_block(indent, is_item=is_item, number=number)
        if is_item:
            entry = bare[2:].lstrip(" ")
            items = self._open[-1].block
            if entry.startswith("/"):
                items.add(items.next_item, Scalar(entry, number))
                return
            item = Block(number)
            items.add(items.next_item, item)
            self._open.append(_Open(indent + len(bare) - len(entry), item))
            bare = entry
        self._take_pair(number, bare)

    def _find_block(self, indent: int, *, is_item: bool, number: int) -> None:
        above = self._open[-1]
        if self._waiting:
            # A list may begin right below its key.
            if indent < above.indent + (not is_item):
                key, line = self._waiting.text, self._waiting.line
                self._document.fail(key, "has no value", "give one, or leave it out", line)
            if len(self._open) == _MAX_DEPTH:
                self._fail(f"more than {_MAX_DEPTH} levels", number)
            inner = Block(number, is_list=is_item)
            above.block.add(self._waiting.text, inner)
            self._waiting = None
            self._open.append(_Open(indent, inner))
        while len(self._open) > 1 and (
            self._open[-1].indent > indent
            or (self._open[-1].indent == indent and self._open[-1].block.is_list and not is_item)
        ):
            self._open.pop()
        if self._open[-1].indent != indent or self._open[-1].block.is_list != is_item:
            self._fail("is not indented as any line above", number)

    def _take_pair(self, number: int, content: str) -> None:
        found = _KEY.fullmatch(content)
        if found is None:
            self._fail(f"{shown(content)} is no 'key: value'", number)
        key, value, block = found[2], found[3], self._open[-1].block
        if key in block.entries:
            self._document.fail(key, "is there twice", "leave one of them", number)
        if not value:
            block.add(key, Scalar("", number))
            self._waiting = Scalar(key, number)
            return
        quoted = _QUOTED.fullmatch(value)
        if quoted is None and _NOT_PLAIN.match(value):
            self._document.fail(
                key,
                f"{shown(value)} is no plain value",
                "anchors, aliases, tags, {} and [] are not read; write one plain value a line",
                number,
            )
        block.add(key, Scalar(quoted[2] if quoted else value, number))

    def _fail(self, what: str, number: int) -> NoReturn:
        self._document.fail("file", what, _ALLOWED, number)
