"""Documents of whoever wrote them: every mistake is one printable line, soon."""

from __future__ import annotations

import time

import pytest

from appliance.bench.timetable import parse_schedule
from appliance.errors import UsageError
from appliance.storage.policy.layout import parse_layout

_DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "parse", [parse_layout, lambda text, source: parse_schedule(text, source, ["smoke"])]
)
@pytest.mark.parametrize(
    "text",
    [
        f"x = {_DIGITS}",
        "[[volume]]\nname = 0x" + "f" * 5000,
        "[[volume]]\nname = 'a'\nmount = " + "[" * 400 + "]" * 400,
        ".".join("a" * 20_000) + " = 1",
        '"a".' * 20_000 + "b = 1",
        f"{'k' * 60_000} = 1",
        '"\\u001b[2J\\u001b[Hforged line" = 1',
        "x = " + "[" * 30_000,
    ],
    ids=["digits", "hex", "nested", "dotted", "quoted", "long key", "escapes", "brackets"],
)
def test_a_document_that_asks_for_trouble_is_one_short_line(parse, text) -> None:
    began = time.process_time()
    with pytest.raises(UsageError) as caught:
        parse(text, "file.toml")
    assert time.process_time() - began < 2
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 400
