"""Disks: why each is or is not used, and what can be done about it."""

from dataclasses import replace

import pytest
from textual.widgets import DataTable

from appliance.model.disks import DiskKind, LvmMember, Scan, Signature
from tests.tui.driving import both_sizes, notices, settled
from tests.tui.fakes import (
    FOREIGN_DISK,
    MEMBERS,
    ROOT_DISK,
    STATUS,
    VOLUME,
    disk,
    live,
    screen_text,
    snapshot,
    stage,
)
from tests.tui.pictures import assert_looks_as_kept
from tui import marks
from tui.details import disk_hint, disk_reason, disk_sheet, disk_use

FOREIGN = replace(FOREIGN_DISK, hint="save what is on it, then plan with --erase AWS00005EXAMPLE")
SPARE = disk(6, signatures=(), blank=True)
EBS = disk(
    7,
    kind=DiskKind.NETWORK,
    claimable=False,
    reason="EBS volume vol-0ab, no role given",
    hint="to use it, name its serial in a volume's select",
)
DISKS = (ROOT_DISK, *MEMBERS, FOREIGN, SPARE, EBS)
ALL = snapshot(replace(STATUS, disks=DISKS))
DOWN = replace(
    VOLUME,
    mounted=False,
    outcome="refused",
    reason="one of four members is missing",
    hint="wait for nvme4n1, or set on_loss",
)


def status(*volumes):
    return replace(STATUS, disks=DISKS, volumes=volumes)


@pytest.mark.parametrize(
    ("which", "volumes", "word", "reason", "hint"),
    [
        (MEMBERS[1], (VOLUME,), "used", "member 2 of 4 of volume scratch: instance storage", ""),
        (SPARE, (VOLUME,), "free", "could be used, but no volume takes it", "screen (key 3)"),
        (SPARE, (), "free", "instance storage: the model is", "Layout screen (key 3)"),
        (
            MEMBERS[0],
            (DOWN,),
            "free",
            "meant for volume scratch, which is not up: one of four members is missing",
            "wait for nvme4n1",
        ),
        (FOREIGN, (VOLUME,), "no", "holds an ext4 signature at 0x438", "save what is on it"),
        (EBS, (VOLUME,), "no", "EBS volume vol-0ab, no role", "name its serial"),
        (ROOT_DISK, (VOLUME,), "system", "the system runs from it", ""),
    ],
)
def test_each_disk_says_why_and_what_to_do(which, volumes, word, reason, hint):
    here = status(*volumes)
    assert disk_use(which, here, marks.UNICODE).word == word
    assert disk_reason(which, here).startswith(reason)
    assert hint in disk_hint(which, here)
    assert bool(hint) == bool(disk_hint(which, here))
    sheet = disk_sheet(which, here, marks.UNICODE).plain
    assert disk_reason(which, here) in sheet
    assert disk_hint(which, here) in sheet


def test_the_sheet_has_what_holds_a_disk():
    held = disk(
        8,
        holders=("dm-0",),
        holder_notes=("LUKS 'secret'",),
        claimed_by="/etc/fstab line 3",
        cloud_name="sdf",
        lvm_member=LvmMember("uuid", "vg0"),
        signatures=(Signature("crypto_LUKS", 0),),
    )
    sheet = disk_sheet(held, STATUS, marks.UNICODE).plain
    for words in ("dm-0 (LUKS 'secret')", "/etc/fstab line 3", "sdf", "vg0", "crypto_LUKS at 0x0"):
        assert words in sheet


@pytest.mark.parametrize(
    ("blank", "scanned", "words"),
    [
        (True, Scan(838 << 30, 0, 0), "blank         yes: all of it read"),
        (
            True,
            Scan(9 << 30, 131072, 64 << 20),
            "1.1 % read, 131,072 samples: anything larger",
        ),
        (None, Scan(419 << 30, 0, 419 << 30), "not known: only the first 50.0 % read"),
        (False, Scan(0, 0, 838 << 30), "blank         no\n"),
        (None, None, "blank         not known"),
    ],
)
def test_the_sheet_says_how_a_disk_was_found_blank(blank, scanned, words):
    spare = replace(SPARE, size_bytes=838 << 30, blank=blank, scan=scanned)
    assert words in disk_sheet(spare, STATUS, marks.UNICODE).plain


@both_sizes
async def test_why_a_disk_is_not_used_is_found_with_three_keys(size):
    acted = stage(ALL)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "4 of 8 used, 1 could be" in text
        await pilot.press("f", "down")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "shown: not used" in text
        assert acted.app.screen.query_one(DataTable).row_count == 4
        assert "why   holds an ext4 signature at 0x438" in text
        assert "next  save what is on it, then plan with --erase" in text
        await pilot.press("enter")
        await settled(pilot)
        assert "ext4 at 0x438 label old-data" in screen_text(acted.app)
        await pilot.press("escape", "f")
        await settled(pilot)
        assert acted.app.screen.query_one(DataTable).row_count == 4
        assert "shown: used" in screen_text(acted.app)
        await pilot.press("f")
        await settled(pilot)
        assert acted.app.screen.query_one(DataTable).row_count == 8


@both_sizes
async def test_the_filter_finds_reasons_and_hints(size):
    acted = stage(ALL)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = acted.app.screen.query_one(DataTable)
        for words, rows in (("ext4", 1), ("--erase", 1), ("network", 1), ("volume scratch", 4)):
            await pilot.press("slash", *["space" if char == " " else char for char in words])
            await pilot.press("enter")
            await settled(pilot)
            assert table.row_count == rows, words
            await pilot.press("escape")
        await settled(pilot)
        assert table.row_count == 8


async def test_live_figures_stand_beside_each_member_where_there_is_room():
    acted = stage(ALL)
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        (member,) = [row for row in rows if "AWS00002EXAMPLE" in row and "● used" in row]
        assert "410 MiB/s" in member
        assert "310.0 µs" in member
        (other,) = [row for row in rows if "AWS00006EXAMPLE" in row]
        assert "/s" not in other
        acted.give(replace(ALL, live=live(8e9)))
        await settled(pilot)
        assert "1.86 GiB/s" in screen_text(acted.app)
        # The present disk in full, right below.
        assert "id            nvme-Amazon_Elastic_Block_Store" in screen_text(acted.app)
    acted = stage(ALL)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        assert "read+write" not in screen_text(acted.app)


async def test_without_disks_it_says_so():
    acted = stage(snapshot(replace(STATUS, disks=())))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2", "f")
        await settled(pilot)
        assert "none recorded by the boot unit" in screen_text(acted.app)
        assert notices(acted.app) == ["Not used: no disks are known"]
        acted.give(snapshot(replace(STATUS, disks=MEMBERS)))
        await settled(pilot)
        await pilot.press("f")
        await settled(pilot)
        assert "every disk is used" in screen_text(acted.app)


async def test_pictures():
    for name, size in (("disks-80", (80, 24)), ("disks-140", (140, 45))):
        acted = stage(ALL)
        async with acted.app.run_test(size=size) as pilot:
            await settled(pilot)
            await pilot.press("2", *["down"] * 5)
            await settled(pilot)
            await assert_looks_as_kept(acted.app, pilot, name)
