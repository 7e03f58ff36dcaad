from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import UsageError
from appliance.storage.layout import DEFAULT_LAYOUT, load_layout, parse_layout

_GOOD = '[[volume]]\nname = "scratch"\nmount = "/mnt/scratch"\n'


def test_no_file_is_the_default_unless_it_was_named(tmp_path: Path) -> None:
    assert load_layout(tmp_path / "none.toml") is DEFAULT_LAYOUT
    with pytest.raises(UsageError, match="no such layout file"):
        load_layout(tmp_path / "none.toml", must_exist=True)


def test_a_full_layout(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(
        '[[volume]]\nname = "fast-1"\nselect = { kind = "instance-store" }\n'
        'stripe = "md-raid0"\nchunk = "64KiB"\nfilesystem = "xfs"\nmount = "/mnt/fast"\n'
        'on_short = "accept"\non_loss = "recreate"\nwait = "2min"\n'
    )
    layout = load_layout(path)
    (volume,) = layout.volumes
    assert (volume.name, volume.mount, volume.chunk_bytes) == ("fast-1", "/mnt/fast", 65536)
    assert (volume.on_short, volume.on_loss, volume.wait_seconds) == ("accept", "recreate", 120.0)
    assert layout.source == str(path)


def test_left_out_keys_are_the_default() -> None:
    assert parse_layout(_GOOD, "x").volumes == DEFAULT_LAYOUT.volumes


@pytest.mark.parametrize(
    ("line", "key", "allowed"),
    [
        ("colour = 1", "volume.colour: unknown key", "allowed: name, mount"),
        ("chunk = 256", "volume.chunk: 256 is not text", 'chunk = "..."'),
        ('chunk = "300KiB"', "volume.chunk", "power of two"),
        ('chunk = "2KiB"', "volume.chunk", "4KiB"),
        ('chunk = "128MiB"', "volume.chunk", "64MiB"),
        ('chunk = "256kb"', "volume.chunk", "256KiB"),
        ('chunk = "-4KiB"', "volume.chunk", "power of two"),
        ('stripe = "md-raid10"', "volume.stripe: 'md-raid10' is not supported", "md-raid0"),
        ('filesystem = "ext4"', "volume.filesystem: 'ext4' is not supported", "xfs"),
        ('on_short = "maybe"', "volume.on_short", "refuse, accept"),
        ('on_loss = "cry"', "volume.on_loss", "refuse, recreate"),
        ('wait = "11min"', "volume.wait", "10min"),
        ("wait = 60", "volume.wait: 60 is not text", "wait ="),
        ('select = { role = "data" }', "volume.select.role: not supported", "instance-store"),
        ('select = { kind = "network" }', "volume.select.kind: 'network'", "instance-store"),
        ('select = "all"', "volume.select: not a table", "instance-store"),
    ],
)
def test_a_wrong_line_names_key_and_what_is_allowed(line: str, key: str, allowed: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_layout(_GOOD + line + "\n", "/etc/l.toml")
    assert caught.value.message.startswith("/etc/l.toml: ")
    assert key in caught.value.message
    assert allowed in caught.value.hint


@pytest.mark.parametrize(
    "name", ["", "Scratch", "1st", "with space", "a/b", "../x", "-x", "thirteen-char", "ü", "a\n"]
)
def test_names_that_are_no_volume_names(name: str) -> None:
    text = f'[[volume]]\nname = {_toml(name)}\nmount = "/mnt/x"\n'
    with pytest.raises(UsageError, match=r"volume\.name"):
        parse_layout(text, "l")


@pytest.mark.parametrize(
    "mount",
    [
        *("", "mnt/x", "/", "//mnt/x", "/mnt/x/", "/mnt/../etc", "/mnt", "/etc/x", "/usr"),
        *("/var/lib", "/dev/shm", "/tmp/x", "/run/x", "/var/lib/stripewright/x"),
        *("/home/db", "/srv/db", "/data", "/var/lib/postgresql", "/mntx/y", "/media/x"),
        *("/mnt/a b", "/mnt/\x1b[31m", "/mnt/é"),
    ],
)
def test_mount_points_that_are_refused(mount: str) -> None:
    text = f'[[volume]]\nname = "x"\nmount = {_toml(mount)}\n'
    with pytest.raises(UsageError, match=r"volume\.mount") as caught:
        parse_layout(text, "l")
    assert "this version mounts below /mnt" in caught.value.hint


@pytest.mark.parametrize("mount", ["/mnt/x", "/mnt/db/one"])
def test_mount_points_that_are_fine(mount: str) -> None:
    assert (
        parse_layout(f'[[volume]]\nname = "x"\nmount = "{mount}"\n', "l").volumes[0].mount == mount
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "volume: missing"),
        ("volume = 1", "volume: missing or not a table"),
        ("[volume]\nname = 'x'", "volume: missing or not a table"),
        ("[other]", "other: unknown key"),
        ("[[volume]]\nmount = '/mnt/x'", "volume.name: missing"),
        ("[[volume]]\nname = 'x'", "volume.mount: missing"),
        (_GOOD + _GOOD, "2 volumes declared"),
        ("[[volume", "not valid TOML"),
    ],
)
def test_a_wrong_file(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_layout(text, "l")
    assert message in caught.value.message
    assert caught.value.hint


def test_files_that_are_no_layout(tmp_path: Path) -> None:
    binary, big, pipe = tmp_path / "b", tmp_path / "big", tmp_path / "pipe"
    binary.write_bytes(b"\xff\xfe")
    big.write_text("# x\n" * 100_000)
    os.mkfifo(pipe)
    for path, what in (
        (binary, "UTF-8"),
        (big, "larger"),
        (pipe, "regular"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(UsageError, match=what):
            load_layout(path)


@given(st.text(max_size=200))
def test_any_text_is_a_layout_or_a_usage_error(text: str) -> None:
    try:
        parse_layout(text, "l")
    except UsageError as error:
        assert error.hint


def _toml(text: str) -> str:
    escaped = "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'
