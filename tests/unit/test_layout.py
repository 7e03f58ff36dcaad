"""What a layout says, and back to the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import UsageError
from appliance.model.disks import DiskKind
from appliance.model.plans import FilesystemOptions, Layout, OperatorRule, Selector, Tuning, Volume
from appliance.storage.formats import filesystem
from appliance.storage.formats.ext4 import Ext4Options
from appliance.storage.formats.xfs import XfsOptions
from appliance.storage.policy.layout import (
    DEFAULT_LAYOUT,
    RULE_FIELDS,
    TUNING_FIELDS,
    load_layout,
    parse_layout,
    render_layout,
    volume_fields,
)

_GOOD = '[[volume]]\nname = "scratch"\nmount = "/mnt/scratch"\n'
_REFERENCE = Path(__file__).parents[2] / "docs/layout.md"
_MIB = 1024 * 1024


def test_no_file_is_the_default_unless_it_was_named(tmp_path: Path) -> None:
    assert load_layout(tmp_path / "none.toml") is DEFAULT_LAYOUT
    with pytest.raises(UsageError, match="no such layout file"):
        load_layout(tmp_path / "none.toml", must_exist=True)


def test_a_full_layout(tmp_path: Path) -> None:
    path = tmp_path / "layout.toml"
    path.write_text(
        """
[[volume]]
name = "data"
select = { role = "data", count = 2 }
stripe = "lvm-stripe"
chunk = "128KiB"
filesystem = "ext4"
mount = "/mnt/data"
on_short = "accept"
on_loss = "recreate"
wait = "2min"
lvm_extent = "16MiB"
mount_options = ["discard", "commit=30"]
ext4 = { bytes_per_inode = "64KiB", reserved_percent = 0, journal_size = "128MiB" }
initialise_rate = "200MiB/s"

[[volume]]
name = "logs"
select = { serials = ["AWS 1", "AWS2"] }
stripe = "md-raid10"
raid10_layout = "far2"
mount = "/mnt/logs"
mount_options = ["allocsize=1024k"]
xfs = { reflink = false, inode_size = "1KiB", log_size = "64MiB" }

[[volume]]
name = "raw"
stripe = "single"
filesystem = "none"

[[rule]]
serials = ["vol0abc"]
vendor = "NVMe"
model = "Amazon Elastic Block Store"
cloud_name = "sdf"
role = "data"
kind = "network"

[tuning]
scheduler = "mq-deadline"
io_timeout = "90s"
cpu_latency = "10us"
rebuild_min = "100MiB/s"
"""
    )
    assert load_layout(path) == Layout(
        volumes=(
            Volume(
                name="data",
                mount="/mnt/data",
                chunk_bytes=128 * 1024,
                stripe="lvm-stripe",
                filesystem="ext4",
                select=Selector(kind=None, role="data", count=2),
                on_short="accept",
                on_loss="recreate",
                wait_seconds=120.0,
                lvm_extent_bytes=16 * _MIB,
                mount_options=("discard", "commit=30"),
                options=Ext4Options(64 * 1024, 0, 128 * _MIB),
                initialise_rate_bytes=200 * _MIB,
            ),
            Volume(
                name="logs",
                mount="/mnt/logs",
                stripe="md-raid10",
                select=Selector(kind=None, serials=("AWS 1", "AWS2")),
                raid10_layout="far2",
                mount_options=("allocsize=1024k",),
                options=XfsOptions(False, 1024, 64 * _MIB),
            ),
            Volume(name="raw", mount="", stripe="single", filesystem="none"),
        ),
        source=str(path),
        rules=(
            OperatorRule(
                ("vol0abc",),
                "NVMe",
                "Amazon Elastic Block Store",
                "sdf",
                "data",
                DiskKind.NETWORK,
            ),
        ),
        tuning=Tuning("mq-deadline", 90, 10, 100 * _MIB),
    )


def test_left_out_keys_are_the_default() -> None:
    assert parse_layout(_GOOD, "x").volumes == DEFAULT_LAYOUT.volumes
    assert parse_layout(_GOOD, "x").tuning == Tuning()


# -------------------------------------------------------------------------- there and back


_PRINTABLE = st.from_regex(r"[!-~]([ -~]{0,8}[!-~])?", fullmatch=True)
_SIZES = st.integers(64, 2038).map(lambda mib: mib * _MIB)
_OPTIONS: dict[str, st.SearchStrategy[FilesystemOptions | None]] = {
    "xfs": st.builds(
        XfsOptions,
        reflink=st.none() | st.booleans(),
        inode_size_bytes=st.sampled_from([None, 512, 1024, 2048]),
        log_size_bytes=st.none() | _SIZES,
    ),
    "ext4": st.builds(
        Ext4Options,
        bytes_per_inode=st.none() | st.integers(12, 26).map(lambda power: 2**power),
        reserved_percent=st.none() | st.integers(0, 50),
        journal_size_bytes=st.none() | _SIZES,
    ),
    "none": st.none(),
}
_NAMES = st.from_regex(r"[a-oq-rt-z][a-z0-9-]{0,11}", fullmatch=True)


def _unless_default(options: FilesystemOptions | None) -> FilesystemOptions | None:
    return None if options in {XfsOptions(), Ext4Options()} else options


@st.composite
def _volumes(draw: st.DrawFn, number: int) -> Volume:
    stripe = draw(st.sampled_from(["single", "md-raid0", "md-raid10", "lvm-stripe", "hw-raid0"]))
    filesystem = draw(st.sampled_from(["xfs", "ext4", "none"]))
    least = 2 if stripe in {"md-raid10", "lvm-stripe"} else 1
    count = 1 if stripe == "single" else draw(st.integers(least, 30))
    serials = tuple(f"{draw(_PRINTABLE)}-{number}-{at}" for at in range(count))
    select = draw(
        st.sampled_from(
            [
                Selector(kind=None, role=f"r{number}"),
                Selector(kind=None, role="shared", count=count),
                Selector(count=count),
                Selector(kind=None, serials=serials),
            ]
        )
    )
    options = {
        "xfs": ["discard", "lazytime", "noexec", "largeio", "swalloc", "logbsize=256k"],
        "ext4": ["discard", "commit=30", "nodelalloc"],
        "none": [],
    }[filesystem]
    chunk = 2 ** draw(st.integers(13, 20))
    return Volume(
        name=f"{draw(_NAMES)[:8]}-{number}",
        mount="" if filesystem == "none" else f"/mnt/v{number}",
        stripe=stripe,
        filesystem=filesystem,
        chunk_bytes=256 * 1024 if stripe == "single" else chunk,
        select=select,
        on_short=draw(st.sampled_from(["refuse", "accept"])),
        on_loss=draw(st.sampled_from(["refuse", "recreate"])),
        wait_seconds=float(draw(st.integers(0, 600))),
        raid10_layout=draw(st.sampled_from(["near2", "far2", "offset2"]))
        if stripe == "md-raid10"
        else "near2",
        lvm_extent_bytes=2 ** draw(st.integers(20, 30)) if stripe == "lvm-stripe" else 4 * _MIB,
        mount_options=tuple(draw(st.lists(st.sampled_from(options), unique=True)))
        if options
        else (),
        options=_unless_default(draw(_OPTIONS[filesystem])),
        initialise_rate_bytes=draw(st.none() | st.integers(_MIB, 2**33)),
    )


@st.composite
def _rules(draw: st.DrawFn, number: int) -> OperatorRule:
    return OperatorRule(
        serials=(f"{draw(_PRINTABLE)}|{number}",),
        vendor=draw(st.just("") | _PRINTABLE),
        model=draw(st.just("") | _PRINTABLE),
        cloud_name=draw(st.just("") | _PRINTABLE),
        role=draw(_NAMES),
        kind=draw(st.sampled_from([None, DiskKind.NETWORK, DiskKind.INSTANCE_STORE])),
    )


@st.composite
def _layouts(draw: st.DrawFn) -> Layout:
    return Layout(
        volumes=tuple(draw(_volumes(number)) for number in range(draw(st.integers(0, 3)))),
        source="l",
        rules=tuple(draw(_rules(number)) for number in range(draw(st.integers(0, 2)))),
        tuning=Tuning(
            scheduler=draw(st.sampled_from([None, "none", "bfq"])),
            io_timeout_seconds=draw(st.none() | st.integers(1, 4294967)),
            cpu_latency_us=draw(st.none() | st.integers(0, 100_000)),
            rebuild_min_bytes=draw(st.none() | st.integers(1, 1000).map(lambda mib: mib * _MIB)),
        ),
    )


@given(_layouts())
def test_what_is_rendered_is_read_as_the_same_layout(layout: Layout) -> None:
    assert parse_layout(render_layout(layout), "l") == layout


def test_the_default_as_a_file() -> None:
    assert render_layout(DEFAULT_LAYOUT) == (
        "[[volume]]\n"
        'name = "scratch"\n'
        'select = { kind = "instance-store" }\n'
        'stripe = "md-raid0"\n'
        'chunk = "256KiB"\n'
        'filesystem = "xfs"\n'
        'mount = "/mnt/scratch"\n'
        'on_short = "refuse"\n'
        'on_loss = "refuse"\n'
    )


# ------------------------------------------------------------------------- the reference


def test_the_examples_of_the_reference_are_layouts() -> None:
    blocks = [part.split("```")[0] for part in _REFERENCE.read_text().split("```toml\n")[1:]]
    assert len(blocks) >= 3
    for block in blocks:
        parse_layout(block, "docs/layout.md")


def test_the_reference_has_every_mount_option_and_its_reason() -> None:
    text = _REFERENCE.read_text()
    for kind in filesystem.KINDS:
        for option in filesystem.allowed_options(kind):
            assert f"`{option.shown.split(' ')[0].split('=')[0]}" in text
            assert option.why in text
    for option_refused, why in filesystem.REFUSED_OPTIONS.items():
        for kind in filesystem.KINDS:
            assert filesystem.option_problem(kind, option_refused) == why


def test_the_reference_has_every_key() -> None:
    text = _REFERENCE.read_text()
    for field in (*volume_fields(), *RULE_FIELDS, *TUNING_FIELDS):
        assert f"| `{field.key}`" in text, field.key
