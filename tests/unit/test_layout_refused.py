"""What is no layout, and which words say so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import UsageError
from appliance.model.plans import Layout
from appliance.storage.policy import layout
from appliance.storage.policy.layout import load_layout, parse_layout

_GOOD = '[[volume]]\nname = "scratch"\nmount = "/mnt/scratch"\n'
_REFERENCE = Path(__file__).parents[2] / "docs/layout.md"
_MIB = 1024 * 1024


def _wrong(text: str, source: str = "l.toml") -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_layout(text, source)
    assert caught.value.message.startswith(f"{source}: ")
    assert caught.value.hint
    return caught.value


def test_no_volume_at_all_has_to_be_said() -> None:
    assert parse_layout("volume = []\n", "x").volumes == ()
    assert "volume: missing" in _wrong("").message


def test_several_volumes_share_a_kind_if_all_but_one_are_counted() -> None:
    counted = 'select = { kind = "instance-store", count = 2 }\n'
    other = '[[volume]]\nname = "rest"\nmount = "/mnt/rest"\n'
    assert len(parse_layout(_GOOD + counted + other, "x").volumes) == 2
    wrong = _wrong(_GOOD + other)
    assert "volume[2].select (line 4): volume[1] ('scratch') takes all" in wrong.message


@pytest.mark.parametrize(
    ("line", "key", "allowed"),
    [
        ("colour = 1", "volume[1].colour (line 4): unknown key", "allowed: name, select"),
        ("chunk = 256", "volume[1].chunk (line 4): 256 is not text", 'chunk = "..."'),
        ('chunk = "300KiB"', "volume[1].chunk", "power of two"),
        ('chunk = "2KiB"', "volume[1].chunk", "4KiB"),
        ('chunk = "128MiB"', "volume[1].chunk", "64MiB"),
        ('chunk = "256kb"', "volume[1].chunk", "64MiB"),
        ('chunk = "-4KiB"', "volume[1].chunk", "power of two"),
        ('chunk = "256KiB/s"', "volume[1].chunk", "power of two"),
        ('chunk = "4096s"', "volume[1].chunk", "power of two"),
        ('chunk = "\u0664KiB"', "volume[1].chunk", "power of two"),
        ('stripe = "raid5"', "volume[1].stripe (line 4): 'raid5' is not supported", "md-raid10"),
        ('filesystem = "btrfs"', "volume[1].filesystem", "xfs, ext4, none"),
        ('on_short = "maybe"', "volume[1].on_short", "refuse, accept"),
        ('on_short = ""', "volume[1].on_short", "refuse, accept"),
        ('on_loss = "cry"', "volume[1].on_loss", "refuse, recreate"),
        ('wait = "11min"', "volume[1].wait", "10min"),
        ('wait = "1KiB"', "volume[1].wait", "10min"),
        ("wait = 60", "volume[1].wait (line 4): 60 is not text", "wait ="),
        ('select = "all"', "volume[1].select (line 4): not a table", "instance-store"),
        ("select = {}", "volume[1].select (line 4): selects by none", "exactly one"),
        ('select = { kind = "network" }', "volume[1].select.kind (line 4)", "instance-store"),
        ('select = { role = "a", kind = "b" }', "selects by kind and role", "exactly one"),
        ('select = { role = "Data" }', "volume[1].select.role", "lower-case"),
        ('select = { colour = "red" }', "volume[1].select.colour (line 4): unknown key", "serials"),
        ('select = { role = "a", count = 0 }', "volume[1].select.count", "from 1"),
        ('select = { role = "a", count = true }', "True is not a whole number", "from 1"),
        ('select = { role = "a", count = "2" }', "'2' is not a whole number", "from 1"),
        ("select = { serials = [] }", "volume[1].select.serials", "inventory"),
        ('select = { serials = "A" }', "volume[1].select.serials", "inventory"),
        ("select = { serials = [1] }", "1 is not printable text", "inventory"),
        ('select = { serials = ["A", "A"] }', "'A' is there twice", "inventory"),
        ('select = { serials = ["\\u001b"] }', "is not printable text", "inventory"),
        ('select = { serials = ["A"], count = 1 }', "volume[1].select.count", "leave it out"),
        ('raid10_layout = "far2"', "this volume has stripe 'md-raid0'", "'md-raid10'"),
        ('lvm_extent = "4MiB"', "this volume has stripe 'md-raid0'", "'lvm-stripe'"),
        ("ext4 = {}", "this volume has filesystem 'xfs'", "'ext4'"),
        ("xfs = { bigtime = true }", "volume[1].xfs.bigtime (line 4): unknown key", "reflink"),
        ("xfs = { reflink = 1 }", "volume[1].xfs.reflink", "true or false"),
        ('xfs = { inode_size = "256B" }', "volume[1].xfs.inode_size", "512B"),
        ('xfs = { inode_size = "4KiB" }', "volume[1].xfs.inode_size", "2KiB"),
        ('xfs = { log_size = "32MiB" }', "volume[1].xfs.log_size", "64MiB"),
        ('xfs = { log_size = "65537KiB" }', "volume[1].xfs.log_size", "a multiple of 1MiB"),
        ('initialise_rate = "200MiB"', "volume[1].initialise_rate", "MiB/s"),
        ('mount_options = "discard"', "volume[1].mount_options", "discard"),
        ('mount_options = ["nobarrier"]', "'nobarrier': a power cut", "discard"),
        ('mount_options = ["uid=0"]', "'uid=0': it is not one", "xfs volumes may have"),
        ('mount_options = ["discard,suid"]', "'discard,suid': it is not one", "discard"),
        ('mount_options = ["logbsize=32k", "logbsize=64k"]', "'logbsize' is given twice", "32k"),
        ('mount_options = ["commit=30"]', "'commit=30': it is not one", "xfs volumes"),
        ('mount_options = ["allocsize=65k"]', "'allocsize=65k': it is not one", "power of two"),
    ],
)
def test_a_wrong_line_names_key_and_what_is_allowed(line: str, key: str, allowed: str) -> None:
    wrong = _wrong(_GOOD + line + "\n", "/etc/l.toml")
    assert key in wrong.message
    assert allowed in wrong.hint


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ('stripe = "md-raid10"\nselect = { role = "a", count = 1 }', "select.count"),
        ('stripe = "lvm-stripe"\nselect = { serials = ["a"] }', "select.serials"),
        ('stripe = "single"\nselect = { role = "a", count = 2 }', "select.count"),
        ('stripe = "single"\nselect = { serials = ["a", "b"] }', "select.serials"),
        ('stripe = "single"\nchunk = "64KiB"', "chunk"),
        ('stripe = "hw-raid0"\nchunk = "4KiB"', "chunk"),
        ('stripe = "hw-raid0"\nchunk = "2MiB"', "chunk"),
        ('stripe = "md-raid10"\nraid10_layout = "near3"', "raid10_layout"),
        ('stripe = "lvm-stripe"\nlvm_extent = "3MiB"', "lvm_extent"),
        ('stripe = "lvm-stripe"\nchunk = "8MiB"', "chunk"),
        ('stripe = "lvm-stripe"\nchunk = "2MiB"\nlvm_extent = "1MiB"', "lvm_extent"),
        ('filesystem = "ext4"\next4 = { reserved_percent = 51 }', "ext4.reserved_percent"),
        ('filesystem = "ext4"\next4 = { bytes_per_inode = "2KiB" }', "ext4.bytes_per_inode"),
        ('filesystem = "ext4"\next4 = { journal_size = "1MiB" }', "ext4.journal_size"),
        ('filesystem = "ext4"\nmount_options = ["commit=5"]', "mount_options"),
        ('filesystem = "ext4"\nmount_options = ["commit=61"]', "mount_options"),
        ('filesystem = "none"', "mount"),
    ],
)
def test_keys_that_do_not_go_together(lines: str, key: str) -> None:
    assert f"volume[1].{key} (line " in _wrong(_GOOD + lines + "\n").message


def test_one_disk_in_two_volumes_however_its_serial_is_written() -> None:
    text = "".join(
        f'[[volume]]\nname = "{name}"\nmount = "/mnt/{name}"\nstripe = "single"\n'
        f'select = {{ serials = ["{serial}"] }}\n'
        for name, serial in (("a", "vol-0abc"), ("b", "vol0abc"))
    )
    assert "has serial 'vol0abc' too" in _wrong(text).message


def test_without_a_filesystem_there_is_nothing_to_mount() -> None:
    text = '[[volume]]\nname = "raw"\nfilesystem = "none"\nmount_options = ["discard"]\n'
    assert "volume[1].mount_options" in _wrong(text).message


@pytest.mark.parametrize("name", ["snapshot", "snapshots", "pvmove0"])
def test_names_that_lvm_keeps_for_itself(name: str) -> None:
    text = f'[[volume]]\nname = "{name}"\nmount = "/mnt/x"\n'
    parse_layout(text, "l")
    assert "reserved by LVM" in _wrong(text + 'stripe = "lvm-stripe"\n').message


@pytest.mark.parametrize(
    "name", ["", "Scratch", "1st", "with space", "a/b", "../x", "-x", "thirteen-char", "ü", "a\n"]
)
def test_names_that_are_no_volume_names(name: str) -> None:
    text = f'[[volume]]\nname = {_toml(name)}\nmount = "/mnt/x"\n'
    assert "volume[1].name (line 2)" in _wrong(text).message


@pytest.mark.parametrize(
    "mount",
    [
        *("", "mnt/x", "/", "//mnt/x", "/mnt/x/", "/mnt/../etc", "/mnt", "/etc/x", "/usr"),
        *("/var/lib", "/dev/shm", "/tmp/x", "/run/x", "/var/lib/stripewright/x"),
        *("/home/db", "/srv/db", "/data", "/var/lib/postgresql", "/mntx/y", "/media/x"),
        *("/mnt/a b", "/mnt/\x1b[31m", "/mnt/é", '/mnt/"', "/mnt/$x", "/mnt/\\x"),
    ],
)
def test_mount_points_that_are_refused(mount: str) -> None:
    wrong = _wrong(f'[[volume]]\nname = "x"\nmount = {_toml(mount)}\n')
    assert "volume[1].mount (line 3)" in wrong.message
    assert "below /mnt" in wrong.hint


@pytest.mark.parametrize(
    "mount",
    [
        "/mnt/" + "a" * 256,  # no directory can be called so
        "/mnt/" + "a" * 200 + "/" + "b" * 200,  # nor the unit of this one
        "/mnt/" + "-" * 63,  # which is escaped to four times the length
    ],
)
def test_a_mount_point_whose_names_would_be_too_long(mount: str) -> None:
    wrong = _wrong(f'[[volume]]\nname = "x"\nmount = "{mount}"\n')
    assert "volume[1].mount (line 3)" in wrong.message
    assert "more than 255 bytes" in wrong.message


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(("character", "many"), [("#", 64 * 1024), ("é", 32 * 1024)])
def test_a_layout_has_one_limit_in_whatever_way_it_comes(
    tmp_path: Path, as_file: bool, character: str, many: int
) -> None:
    """Otherwise a confirmed plan could install what the next boot does not read."""
    path = tmp_path / "layout.toml"

    def parse(text: str) -> Layout:
        path.write_text(text)
        return load_layout(path) if as_file else parse_layout(text, str(path))

    rest = many - len((_GOOD + "#").encode()) // len(character.encode()) - 1
    text = _GOOD + "#" + character * rest
    text += "#" * (64 * 1024 - len(text.encode()))
    assert parse(text).volumes
    with pytest.raises(UsageError, match="larger than 64 KiB"):
        parse(text + "#")


@pytest.mark.parametrize(
    "mount", ["/mnt/x", "/mnt/db/one", "/mnt/" + "a" * 245, "/mnt/" + "-" * 61]
)
def test_mount_points_that_are_fine(mount: str) -> None:
    assert (
        parse_layout(f'[[volume]]\nname = "x"\nmount = "{mount}"\n', "l").volumes[0].mount == mount
    )


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('name = "scratch"\nmount = "/mnt/b"', "volume[2].name (line 6): volume[1] ('scratch')"),
        ('name = "b"\nmount = "/mnt/scratch"', "volume[2].mount (line 7): volume[1]"),
        ('name = "b"\nmount = "/mnt/scratch/b"', "lie in each other"),
        ('name = "b"\nmount = "/mnt/b"\nselect = { serials = ["B", "A"] }', "serial 'A' too"),
    ],
)
def test_what_two_volumes_must_not_share(second: str, message: str) -> None:
    wrong = _wrong(f'{_GOOD}select = {{ serials = ["A"] }}\n[[volume]]\n{second}\n')
    assert message in wrong.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("volume = 1", "volume: not a list of tables"),
        ("[volume]\nname = 'x'", "volume: not a list of tables"),
        ("volume = [1]", "volume: not a list of tables"),
        ("[other]", "other: unknown key"),
        ("[[volume]]\nmount = '/mnt/x'", "volume[1].name (line 1): missing"),
        ("[[volume]]\nname = 'x'", "volume[1].mount (line 1): missing"),
        ("[[volume", "not valid TOML"),
        ("volume = []\nx", "(at end of document)"),
        ("volume = " + "[" * 5000, "not valid TOML"),
        (_GOOD + "[[rule]]\nrole = 'a'", "rule[1] (line 4): fits any disk"),
        (_GOOD + "[[rule]]\nserials = ['a']", "rule[1] (line 4): says nothing"),
        (_GOOD + '[[rule]]\nmodel = "*\\u001b"\nrole = "a"', "rule[1].model (line 5)"),
        (_GOOD + "[[rule]]\nmodel = 'a'\nkind = 'system'", "rule[1].kind (line 6): 'system'"),
        (_GOOD + "[[rule]]\nmodel = 'a'\nrole = 'A'", "rule[1].role (line 6): 'A'"),
        (_GOOD + "[[rule]]\ncolour = 'a'", "rule[1].colour (line 5): unknown key"),
        (
            _GOOD + "[[rule]]\nserials = ['a']\nrole = 'a'\n" * 2,
            "rule[2].serials (line 8): rule[1] has 'a' too",
        ),
        (_GOOD + "[tuning]\nscheduler = 'cfq'", "tuning.scheduler (line 5): 'cfq'"),
        (_GOOD + "[tuning]\nio_timeout = '500ms'", "tuning.io_timeout (line 5)"),
        (_GOOD + "[tuning]\ncpu_latency = '1s'", "tuning.cpu_latency (line 5)"),
        (_GOOD + "[tuning]\nrebuild_min = '100MiB'", "tuning.rebuild_min (line 5)"),
        (_GOOD + "[tuning]\nspeed = 1", "tuning.speed (line 5): unknown key"),
        (_GOOD + "[[tuning]]\n", "tuning: not a table"),
    ],
)
def test_a_wrong_file(text: str, message: str) -> None:
    assert message in _wrong(text).message


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
    for candidate in (text, _GOOD + text):
        try:
            parse_layout(candidate, "l")
        except UsageError as error:
            assert error.hint


_VALUES = st.one_of(
    st.integers(-2, 2**70),
    st.booleans(),
    st.floats(),
    st.sampled_from(["", "none", "single", "256KiB", "1min", "data", "/mnt/x", "discard"]).map(
        lambda text: f'"{text}"'
    ),
    st.sampled_from(["[]", "{}", '["a"]', "[[1]]", "1979-05-27", '{ role = "a" }', "{ kind = 1 }"]),
).map(lambda value: str(value).lower() if isinstance(value, bool) else str(value))
_KEYS = st.sampled_from(
    [field.key for field in (*layout.volume_fields(), *layout.RULE_FIELDS, *layout.TUNING_FIELDS)]
)


@given(
    st.sampled_from(["[[volume]]", "[[rule]]", "[tuning]", "[volume]"]),
    st.dictionaries(_KEYS, _VALUES, max_size=5),
)
def test_any_value_at_any_key_is_a_usage_error_at_worst(header: str, table: dict[str, str]) -> None:
    text = "\n".join([header, *(f"{key} = {value}" for key, value in table.items())])
    for candidate in (text, f"volume = []\n{text}" if "volume" not in header else text):
        try:
            parse_layout(candidate, "l")
        except UsageError as error:
            assert error.hint


def _toml(text: str) -> str:
    escaped = "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'
