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
    screen_text,
    seconds,
    smart,
    snapshot,
    stage,
)
from tests.tui.pictures import assert_looks_as_kept
from tests.tui.test_slow import hung
from tui import marks
from tui.details import (
    disk_health,
    disk_hint,
    disk_reason,
    disk_sheet,
    disk_use,
    health_words,
    temperature,
)

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
        assert "why        holds an ext4 signature at 0x438" in text
        assert "next       save what is on it, then plan with --erase" in text
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
    acted = stage(replace(ALL, seconds=seconds(4, 2)))
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        (member,) = [row for row in rows if "AWS00002EXAMPLE" in row and "✓ used" in row]
        for words in ("scratch", "2 % worn", "41 °C", "410 MiB/s", "1.54 ms ▲ 5×", "▂▂▂"):
            assert words in member
        assert member.rstrip().endswith("███")
        (other,) = [row for row in rows if "AWS00006EXAMPLE" in row]
        assert "/s" not in other
        assert "? unknown" in other
        # The present disk in full, right below.
        assert "id            nvme-Amazon_Elastic_Block_Store" in screen_text(acted.app)
    acted = stage(replace(ALL, seconds=seconds(4, 2)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "read+write" not in text
        assert "1.54 ms ▲ 5×" in text
        assert "2 % worn" in text


async def test_enter_shows_what_the_row_has_no_room_for():
    acted = stage(ALL)
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await pilot.press("2", "down", "enter")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "no critical warning, 1 % of its rated life used, 0 media errors" in text
        assert "last minutes, means of 10 s" in text
        assert "14:13:20Z" in text


def logged(number, log=None, **changes):
    """A member, and the status after a scan with this log of it."""
    member = MEMBERS[number - 1]
    log = smart(3, **changes) if log is None else log
    return member, replace(STATUS, disks=DISKS, smart={**STATUS.smart, member.id: log})


@pytest.mark.parametrize(
    ("changes", "short", "long"),
    [
        ({}, "✓ 3 % worn", "no critical warning, 3 % of its rated life used, 0 media errors"),
        ({"critical_warning": 12}, "✗ warning", "WARNING: reliability degraded by media or"),
        ({"critical_warning": 12}, "✗ warning", "; it has gone read-only, 3 %"),
        ({"critical_warning": 128}, "✗ warning", "a warning that this version does not know"),
        ({"media_errors": 12}, "▲ 12 errors", "12 media errors"),
        ({"percentage_used": 104}, "▲ 104 % worn", "104 % of its rated life used"),
        ({"temperature_celsius": None}, "✓ 3 % worn", "temperature not reported"),
    ],
)
def test_a_disk_says_how_it_is(changes, short, long):
    member, status = logged(1, **changes)
    assert disk_health(member, status, marks.UNICODE).text == short
    assert long in health_words(member, status)
    assert health_words(member, status) in disk_sheet(member, status, marks.UNICODE).plain


@pytest.mark.parametrize(
    ("which", "changes", "why"),
    [
        (MEMBERS[0], {"smart_problem": "no privileged scan in this boot", "smart": {}}, "no priv"),
        (MEMBERS[0], {"smart": {MEMBERS[0].id: None}}, "the disk did not answer"),
        (MEMBERS[0], {"smart": {}}, "the disk gives no SMART log"),
        (SPARE, {}, "only the disks of volumes are asked"),
        (replace(SPARE, path="/dev/sdb"), {}, "only NVMe disks are asked"),
    ],
)
def test_what_is_not_known_of_a_disk_is_no_zero_and_says_why(which, changes, why):
    here = replace(STATUS, disks=DISKS, **changes)
    assert disk_health(which, here, marks.UNICODE).text == "? unknown"
    assert health_words(which, here).startswith(f"unknown: {why}")
    assert temperature(which, here) == ("?", "")
    assert "0" not in health_words(which, here)


@pytest.mark.parametrize(
    ("critical_warning", "style"), [(0, ""), (0x04, ""), (0x02, marks.BAD), (0x06, marks.BAD)]
)
def test_a_temperature_is_coloured_where_the_disk_itself_warns_of_it(critical_warning, style):
    member, status = logged(1, critical_warning=critical_warning, temperature_celsius=84)
    assert temperature(member, status) == ("84 °C", style)


async def test_the_cursor_goes_to_a_disk_by_its_serial_or_name():
    acted = stage(ALL)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        screen = acted.app.screen
        for name in ("AWS00003EXAMPLE", "nvme3n1"):
            await pilot.press("up", "up")
            screen.jump(name)
            await settled(pilot)
            assert screen.copy_text() == "AWS00003EXAMPLE"
        # One that is not known yet is gone to when it is.
        screen.jump("AWS00009EXAMPLE")
        acted.give(snapshot(replace(STATUS, disks=(*DISKS, disk(9)))))
        await settled(pilot)
        assert screen.copy_text() == "AWS00009EXAMPLE"


async def test_many_disks_leave_room_for_the_one_under_the_cursor():
    many = tuple(disk(number) for number in range(1, 65))
    acted = stage(snapshot(replace(STATUS, disks=many)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2", *["down"] * 40)
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        assert any(row.startswith(" /dev/nvme41n1 ──") for row in rows)
        assert any(row.startswith(" why") for row in rows)
        assert any("nvme41n1" in row and "free" in row for row in rows[4:20])


async def test_without_disks_it_says_so():
    acted = stage(snapshot(replace(STATUS, disks=())))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2", "f")
        await settled(pilot)
        assert "none recorded by the boot unit" in screen_text(acted.app)
        assert notices(acted.app) == ["Which: no disks are known"]
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


async def test_a_hung_member_is_said_to_be_in_full():
    made = tuple(hung((0.0, 1.0, 0.0, 0.0), number=300))
    acted = stage(replace(ALL, seconds=made))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        assert "300 s ▲ hung" in screen_text(acted.app)


async def test_a_link_leads_to_a_disk_that_the_filters_had_left_out():
    acted = stage(ALL)
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await pilot.press("2", "f", "slash", *"zzz", "enter")
        await settled(pilot)
        acted.app.visit("disks", "nvme3n1")
        for _ in range(3):
            await settled(pilot)
        assert "nvme3n1" in acted.app.screen.query_one("#reason").text
