"""What is remembered of an operator: kept, and never in the way."""

import os

import pytest

from tests.tui.driving import notices, settled
from tests.tui.fakes import snapshot, stage
from tui.settings import Settings, settings_path


def test_where_they_are():
    assert str(settings_path({"HOME": "/home/op"})).startswith("/home/op/.local/state/")
    assert str(settings_path({"HOME": "/h", "XDG_STATE_HOME": "/s"})) == "/s/stripewright/tui.toml"
    assert str(settings_path({"HOME": "/h", "XDG_STATE_HOME": "s"})).startswith("/h/")
    assert settings_path({}) is None


def test_they_come_back(tmp_path):
    path = tmp_path / "some" / "where" / "tui.toml"
    settings = Settings(path)
    assert settings.set("theme", "light")
    assert not settings.set("theme", "light")
    settings.write()
    again = Settings(path)
    assert (again.get("theme"), again.get("marker"), again.problem) == ("light", "", "")
    assert [one.name for one in path.parent.iterdir()] == ["tui.toml"]


@pytest.mark.parametrize(
    "content",
    [
        b"theme = ",
        b"\xff\xfe\x00",
        b'theme = "\\u001b[31m"\n',
        b"theme = 3\n",
        b'other = "x"\n',
        b"x = " + b"[" * 2000,
        b"x" + b".x" * 1500 + b" = 1",
        b"#" * 5000,
        b'theme = "' + b"a" * 100 + b'"\n',
    ],
)
def test_what_makes_no_sense_is_ignored_with_a_line(tmp_path, content):
    path = tmp_path / "tui.toml"
    path.write_bytes(content)
    settings = Settings(path)
    assert settings.get("theme") == ""
    assert settings.problem.isprintable()
    assert "ignored" in settings.problem


async def test_words_that_are_not_known_are_named_and_the_others_kept(tmp_path):
    path = tmp_path / "tui.toml"
    path.write_text('theme = "solarized"\nmarker = "block"\nzoom = "a week"\nother = 3\n')
    settings = Settings(path)
    assert (settings.get("theme"), settings.get("zoom")) == ("", "")
    assert settings.get("marker") == "block"
    acted = stage(snapshot(), settings=settings)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        ignored = "theme = 'solarized', zoom = 'a week', other = 3"
        assert notices(acted.app) == [f"settings ignored: {ignored} in {path}"]


def test_only_a_plain_file_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "not a small plain file" in Settings(tmp_path / "pipe").problem
    assert "ignored" in Settings(tmp_path).problem


async def test_a_home_that_cannot_be_written_costs_a_line(tmp_path):
    (tmp_path / "file").write_text("")
    acted = stage(snapshot(), settings=Settings(tmp_path / "file" / "tui.toml"))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "settings ignored" in notices(acted.app)[0]
        acted.app.action_colours("light")
        await settled(pilot)
        assert acted.app.theme == "stripewright-light"
        assert "settings not saved" in notices(acted.app)[-1]


async def test_the_palette_is_remembered(tmp_path):
    path = tmp_path / "tui.toml"
    acted = stage(snapshot(), settings=Settings(path))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        acted.app.action_colours("light")
        await settled(pilot)
    assert path.read_text() == 'theme = "light"\n'
