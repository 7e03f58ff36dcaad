"""A new kind of filesystem is one module: registered here, it is read, planned and recognised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from appliance.errors import UsageError
from appliance.model.disks import Filesystem, Inventory, Machine, Signature
from appliance.model.plans import Decision, FilesystemOptions, Layout, Orders, Plan
from appliance.model.toml_fields import Field, Size
from appliance.storage.execute import recheck
from appliance.storage.formats import data_areas, filesystem, marks, scan
from appliance.storage.formats.filesystem_kind import FilesystemKind, Mkfs, MountOption
from appliance.storage.policy import layout_fields, planner
from appliance.storage.policy.layout import parse_layout, render_layout
from appliance.storage.probe import built
from tests.unit.disks import FOUR, GB, array, disk, inventory, member

_MAGIC = b"TOYFS!"
ONE = Machine(provider="aws", machine_type="m5d.large", expected_disks=1)


@dataclass(frozen=True, slots=True)
class _ToyOptions(FilesystemOptions):
    cube_bytes: int | None = None


def _mkfs(mkfs: Mkfs) -> tuple[str, ...]:
    assert isinstance(mkfs.options, _ToyOptions)
    cube = (f"--cube={mkfs.options.cube_bytes}",) if mkfs.options.cube_bytes else ()
    size = (f"--size={mkfs.size_bytes}",) if mkfs.size_bytes is not None else ()
    return ("mkfs.toyfs", f"--label={mkfs.label}", *cube, *size, mkfs.device)


def _grow(device: str, _: str, size_bytes: int | None) -> tuple[str, ...]:
    return ("toyfs_grow", device, *(() if size_bytes is None else (str(size_bytes),)))


def _superblock(start: bytes) -> Filesystem | None:
    if not start.startswith(_MAGIC):
        return None
    return Filesystem("toyfs", start[6:18].strip(b"\0").decode(), "0" * 32, size_bytes=GB)


TOY = FilesystemKind(
    name="toyfs",
    title="ToyFS",
    signatures=frozenset({"toyfs"}),
    programs=("mkfs.toyfs", "toyfs_grow", "toyfs_info"),
    options=_ToyOptions(),
    option_fields=(Field("cube", Size("4KiB", "64KiB", power=True), "cube_bytes"),),
    options_hint='toyfs = { cube = "4KiB" }',
    mount_options=(MountOption("bricks", "bricks", "builds with bricks"),),
    read_only="ro,nolog",
    mkfs_argv=_mkfs,
    mkfs_device=lambda argv: argv[-1],
    mkfs_members=lambda _, __: 1,
    grow_argv=lambda device, _, size: (
        "toyfs_grow",
        device,
        *(() if size is None else (str(size),)),
    ),
    check_argv=lambda device: ("toyfs_check", device),
    info_argv=lambda device, _: ("toyfs_info", device),
    parse_info=lambda _: (0, 0, GB),
    parse_superblock=_superblock,
    copies=lambda _: (640 * 2**20,),
    shows_mount=lambda block: block.startswith(b"TOYLOG"),
    without_debris=lambda block, _: block.replace(b"brick", bytes(5)),
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(filesystem.KINDS, "toyfs", TOY)


TEXT = """\
[[volume]]
name = "scratch"
filesystem = "toyfs"
mount = "/mnt/scratch"
mount_options = ["bricks"]
toyfs = { cube = "16KiB" }
"""


def _layout() -> Layout:
    return parse_layout(TEXT, "layout.toml")


def _plan(found: Inventory, *, grow: bool = False) -> Plan:
    return planner.plan(found, _layout(), waited=True, orders=Orders(grow=grow))


def test_the_layout_takes_it_and_gives_it_back() -> None:
    layout = _layout()
    assert layout.volumes[0].options == _ToyOptions(16384)
    assert parse_layout(render_layout(layout), "layout.toml") == layout
    for wrong, words in (
        (TEXT.replace("16KiB", "3KiB"), "scratch.*|cube"),
        (TEXT.replace("bricks", "largeio"), "toyfs volumes"),
        (TEXT + "xfs = { reflink = true }\n", "filesystem 'toyfs'"),
    ):
        with pytest.raises(UsageError, match=words):
            parse_layout(wrong, "layout.toml")


def test_the_form_shows_its_options() -> None:
    volume = _layout().volumes[0]
    assert "toyfs" in layout_fields.choices("filesystem")
    shown = layout_fields.fields_of(volume)
    assert shown.options == {"cube": "16KiB"}
    assert "cube" in layout_fields.used_fields(shown)
    assert layout_fields.check(shown, (), Layout(())) == (volume, ())
    _, problems = layout_fields.check(replace(shown, options={"cube": "1KiB"}), (), Layout(()))
    assert [one.field for one in problems] == ["cube"]


def test_it_is_made_on_one_disk_and_on_a_stripe() -> None:
    made = _plan(inventory(disk(1), layout=_layout(), machine=ONE))
    assert made.decision is Decision.CREATE
    (mkfs,) = (one for one in made.steps if one.argv[0] == "mkfs.toyfs")
    size = filesystem.plain_size(900 * GB)
    assert mkfs.argv[1:4] == ("--label=scratch", "--cube=16384", f"--size={size}")
    assert filesystem.mkfs_device(mkfs.argv) == disk(1).stable_path
    (mount,) = (one for one in made.steps if one.argv[0] == "mount")
    assert mount.argv[1:5] == ("-t", "toyfs", "-o", "nodev,nosuid,noatime,bricks")
    made = _plan(inventory(*map(disk, range(1, 5)), layout=_layout(), machine=FOUR))
    assert made.decision is Decision.CREATE
    assert [one.argv[-1] for one in made.steps if one.argv[0] == "mkfs.toyfs"] == [
        "/dev/md/scratch"
    ]


def _toy(label: str, size_bytes: int) -> dict[str, object]:
    return {
        "blank": False,
        "signatures": (Signature("toyfs", 0, label, "1"),),
        "filesystem": Filesystem("toyfs", label, "1", 0, 0, size_bytes=size_bytes),
    }


def test_one_of_another_is_refused() -> None:
    found = inventory(disk(1, **_toy("data", 10 * GB)), layout=_layout(), machine=ONE)
    made = _plan(found)
    assert made.decision is Decision.REFUSE
    assert "a toyfs signature" in made.volumes[0].reason
    # Ours by its label, and not what is declared.
    xfs = {"blank": False, "signatures": (Signature("xfs", 0, "scratch"),)}
    xfs["filesystem"] = Filesystem("xfs", "scratch", "1", 0, 0)
    made = _plan(inventory(disk(1, **xfs), layout=_layout(), machine=ONE))
    assert "holds xfs labelled 'scratch', not toyfs" in made.volumes[0].reason


def test_it_grows_with_its_disk_and_on_its_array() -> None:
    found = inventory(disk(1, **_toy("scratch", 800 * GB)), layout=_layout(), machine=ONE)
    assert "it can grow" in _plan(found).volumes[0].reason
    made = _plan(found, grow=True)
    assert made.decision is Decision.GROW
    size = filesystem.plain_size(900 * GB)
    assert made.steps[-1].argv == ("toyfs_grow", disk(1).stable_path, str(size))
    inside = Filesystem("toyfs", "scratch", "1", 256 * 1024, 1024 * 1024, size_bytes=800 * GB)
    members = [member(slot, filesystem=inside) for slot in range(4)]
    members = [
        replace(one, md_member=replace(one.md_member, device_bytes=one.size_bytes - 2**20))
        for one in members
        if one.md_member
    ]
    up = array(*members, filesystem=inside)
    members = [replace(one, holders=("md127",), busy=True) for one in members]
    made = _plan(inventory(*members, arrays=(up,), layout=_layout()), grow=True)
    assert made.decision is Decision.GROW, made.volumes[0].reason
    assert made.steps[-1].argv == ("toyfs_grow", "/dev/md127")


def test_what_reads_disks_knows_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    start = (_MAGIC + b"scratch").ljust(data_areas.HEAD_BYTES, b"\0")
    found = filesystem.parse_superblock(start)
    assert found == Filesystem("toyfs", "scratch", "0" * 32, size_bytes=GB)
    end = marks.end_offset(10 * GB)
    assert data_areas.believed(start, 10 * GB, {"toyfs"}) == (end,)
    assert (640 * 2**20, scan.SAMPLE_BYTES) in scan.places(5 * GB)
    uuid = "12" * 16
    accepts = filesystem.of_mkfs(uuid, blank=True)
    assert accepts(0, b"brick".ljust(4096, b"\0"))
    assert not accepts(0, b"stone".ljust(4096, b"\0"))
    assert not accepts(0, (b"TOYLOG" + bytes.fromhex(uuid)).ljust(4096, b"\0"))
    node = tmp_path / "node"
    node.write_bytes(start)
    monkeypatch.setattr(built.blockdev, "read_filesystem", lambda _: found)
    assert built.filesystem(str(node), [Signature("toyfs")]) == found
    monkeypatch.setattr(recheck.blockdev, "read_durable", lambda *_: bytes(4096))
    words = recheck.look_before_mount(_layout().volumes[0], str(node), members=1)
    assert "neither XFS nor ext4 nor ToyFS, and should hold toyfs" in words
