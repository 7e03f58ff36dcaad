"""Layout: volumes as they are, as declared and as drafted; forms, presets, the picker."""

from dataclasses import replace
from threading import Event, Thread

import pytest

from appliance.client.machine_status import Health
from appliance.errors import OperatorError
from appliance.model.disks import DiskKind
from appliance.model.plans import Selector
from appliance.storage.policy.layout_draft import Draft
from tests.tui.driving import both_sizes, keys, notices, plain, settled, shows, typed
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts, inventory
from tests.tui.fakes import FOREIGN_DISK, STATUS, screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tests.unit.disks import disk
from tui import marks
from tui.screens.layout_form import VolumeForm
from tui.widgets.layout import outcome_lines

HERE = snapshot(STATUS_HERE)


async def opened(pilot, *names):
    await settled(pilot)
    await keys(pilot, "3", *names)


def draft(acted):
    return acted.app.main_screen.draft


@both_sizes
async def test_a_volume_is_added_in_a_form_that_checks_fields_when_they_are_left(size):
    acted = stage(HERE)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, "plus")
        await shows(acted, pilot, "A new volume")
        # Typing begins in the first field; nothing is wrong yet, and what is allowed is said.
        await shows(acted, pilot, "a lower-case letter, then up to 11")
        await typed(pilot, "Data")
        await settled(pilot)
        assert "✗" not in plain(acted)
        assert "is not allowed" not in plain(acted)
        await keys(pilot, "tab")
        await shows(acted, pilot, "'Data' is not allowed; a lower-case letter")
        await shows(acted, pilot, "✗ to be fixed: name")
        await keys(pilot, "shift+tab", "end", *["backspace"] * 4)
        await typed(pilot, "data")
        # It takes all disks, and so does scratch: said at the disks.
        await shows(acted, pilot, "volume[1] ('scratch') takes all of the same disks")
        await keys(pilot, "ctrl+s")
        assert notices(acted.app)[0].startswith("Keep: disks: volume[1] ('scratch') takes all")
        await keys(pilot, "down", "right", "tab")
        await typed(pilot, "2")
        text = plain(acted)
        assert "[count]" in text
        assert "▲ refused" in text  # the four disks are scratch's
        await keys(pilot, "ctrl+s")
        assert [one.name for one in draft(acted).edits] == ["data"]
        text = plain(acted)
        assert "a draft: nothing changes until its plan is confirmed" in text
        assert "data – absent md-raid0 xfs" in text
        assert "▲ refused" in text
        await keys(pilot, "down")
        await shows(acted, pilot, "draft new: 2 instance storage · md-raid0 · chunk 256KiB")
        await keys(pilot, "D")
        assert draft(acted).is_empty
        await keys(pilot, "D")
        assert notices(acted.app)[-1] == "Discard: there is no draft"
        # Each change can be undone, and so can discarding all of them.
        await keys(pilot, "U")
        assert [one.name for one in draft(acted).edits] == ["data"]
        await keys(pilot, "U")
        assert draft(acted).is_empty
        await keys(pilot, "U")
        assert notices(acted.app)[-1] == "Undo: there is nothing to undo"
        assert [one for one in acted.app.world.layouts.calls if one.startswith("plan")] == []


@pytest.mark.parametrize("size", [(40, 10), (60, 15)])
async def test_on_a_few_lines_a_field_stays_in_view_with_its_mistake_and_all_its_choices(size):
    acted = stage(HERE)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, "plus")
        await typed(pilot, "Data")
        await keys(pilot, "tab", "shift+tab")
        await shows(acted, pilot, "name Data")
        await shows(acted, pilot, "'Data' is not allowed")
        await keys(pilot, "tab", "tab")
        for word in ("[md-raid0]", "md-raid10", "lvm-stripe", "hw-raid0", "single"):
            await shows(acted, pilot, word)
        acted.app.screen.query_one("#field-initialise-rate Input").focus()
        await typed(pilot, "20")
        await keys(pilot, "up", "down")
        await shows(acted, pilot, "initialise_rate 20 '20' is not allowed")


async def test_every_key_of_the_form_arrives_in_the_draft():
    acted = stage(HERE)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "enter")
        form = acted.app.screen
        assert isinstance(form, VolumeForm)

        async def go_to(name):
            form.query_one(f"#field-{name}").query_one("Choice, Input").focus()

        await go_to("on-short")
        await keys(pilot, "right")
        await go_to("on-loss")
        await keys(pilot, "space")
        await go_to("wait")
        await keys(pilot, *["backspace"] * 3)
        await typed(pilot, "90")
        await go_to("mount-options")
        await typed(pilot, "discard lazytime")
        await go_to("reflink")
        await keys(pilot, "left")
        await go_to("inode-size")
        await typed(pilot, "1KiB")
        await settled(pilot)
        # A mistake far down is seen with its field.
        await go_to("initialise-rate")
        await typed(pilot, "20")
        await keys(pilot, "up", "down", "end")
        await shows(acted, pilot, "initialise_rate 20 '20' is not allowed")
        await typed(pilot, "0MiB/s")
        assert "is not allowed" not in plain(acted)
        await keys(pilot, "ctrl+s")
        made = draft(acted).edits[0]
    assert (made.on_short, made.on_loss, made.wait_seconds) == ("accept", "recreate", 90)
    assert made.mount_options == ("discard", "lazytime")
    assert (made.options.reflink, made.options.inode_size_bytes) == (False, 1024)
    assert made.initialise_rate_bytes == 200 * 1024**2


async def test_what_cannot_be_changed_in_place_leads_to_two_plans():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "enter")
        await keys(pilot, "ctrl+r")
        assert notices(acted.app) == ["Remove first: it can be changed in place"]
        await keys(pilot, "tab", "tab", "tab", "end", *["backspace"] * 6)
        await typed(pilot, "64KiB")
        await shows(acted, pilot, "cannot be changed in place: ctrl+r removes it first")
        await shows(acted, pilot, "the layout declares raid0 with chunk 64KiB")
        await keys(pilot, "ctrl+r")
        await shows(acted, pilot, "✗ two plans")
        await shows(acted, pilot, "the second recreates it, chunk 256KiB → 64KiB")
        # The first plan was carried out: the second is in the draft by itself.
        layouts.base = replace(layouts.base, volumes=(), source="/etc/stripewright/layout.toml")
        blank = tuple(disk(number) for number in range(1, 5))
        gone = replace(STATUS_HERE, volumes=(), inventory=inventory(*blank))
        acted.give(snapshot(gone, history_mark="42"))
        await settled(pilot)
        await shows(acted, pilot, "scratch – absent md-raid0 xfs 4 3.27 TiB")
        await shows(acted, pilot, "◆ new")
        await shows(acted, pilot, "chunk 64 KiB")
        assert draft(acted).removed == ()


async def test_another_name_removes_the_one_that_is_there():
    acted = stage(HERE)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "enter")
        await keys(pilot, "2")
        await shows(acted, pilot, "scratch and its data are removed, scratch2 is created")
        await keys(pilot, "ctrl+s")
        assert draft(acted).removed == ("scratch",)
        await shows(acted, pilot, "scratch2 – absent md-raid0 xfs 4 13.6 TiB ◆ new")
        # Its name is free only when this plan was carried out.
        await keys(pilot, "plus")
        await typed(pilot, "scratch")
        await keys(pilot, "tab")
        await shows(acted, pilot, "this draft removes a volume of that name")
        await keys(pilot, "escape")
        # The removed one has no form; d keeps it after all.
        await keys(pilot, "home", "enter")
        assert "- keeps it" in notices(acted.app)[-1]
        await keys(pilot, "minus")
        assert draft(acted).removed == ()


@both_sizes
async def test_volumes_are_shown_as_they_are_and_a_preset_is_made_for_these_disks(size):
    acted = stage(HERE)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot)
        text = plain(acted)
        for words in (
            "built-in default",
            "scratch ✓ mounted md-raid0 xfs 4 13.6 TiB",
            "now raid0 × 4 · chunk 256 KiB · 13.6 TiB · at /mnt/scratch",
            "declared all instance storage · md-raid0 · chunk 256KiB · xfs · /mnt/scratch",
            "would be ✓ brought up: all 4 members of volume 'scratch' are here",
            "sunit 256 KiB, swidth 1 MiB",
            "WOULD BE DESTROYED",
            "✓ nothing",
            "⏎ Edit",
            "p Plan",
        ):
            assert words in text
        assert all(len(line) <= size[0] for line in screen_text(acted.app).splitlines())
        await keys(pilot, "i", "down")
        await shows(acted, pilot, "data has 2 of 4, logs 2: one can fail without the other")
        await keys(pilot, "enter")
        text = plain(acted)
        mount = "/mnt/{} " if size[0] > 80 else ""
        for name, row in (
            ("scratch", "✓ mounted md-raid0 xfs 4 13.6 TiB {}✗ removed"),
            ("data", "– absent md-raid0 xfs 2 6.82 TiB {}◆ new"),
            ("logs", "– absent md-raid0 xfs 2 6.82 TiB {}◆ new"),
        ):
            assert f"{name} {row.format(mount.format(name))}" in text
        assert "✗ nvme1n1 AWS00001EXAMPLE 3.41 TiB member of 'scratch'" in text
        # Each disk once.
        assert all(text.count(f"AWS0000{number}EXAMPLE") == 1 for number in range(1, 5))
        if size == (80, 24):
            await assert_looks_as_kept(acted.app, pilot, "layout-draft-80x24")
        await keys(pilot, "i", "escape")
        assert acted.app.current_mode == "layout"
        assert draft(acted).removed == ("scratch",)


async def test_a_preset_that_cannot_be_had_says_why_and_is_not_taken():
    one = replace(STATUS_HERE, inventory=inventory(disk(1)), volumes=())
    acted = stage(snapshot(one))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "i")
        await shows(acted, pilot, "not now: it needs two disks of instance storage; 1 found")
        # It is passed over.
        await keys(pilot, "down")
        assert acted.app.focused.highlighted == 3
        await keys(pilot, "escape")
        assert draft(acted) == Draft()


@both_sizes
async def test_the_picker_shows_every_disk_and_why_it_cannot_be_used(size):
    foreign = replace(FOREIGN_DISK, kind=DiskKind.UNKNOWN, reason="")
    hostile = replace(disk(6), serial="AWS[red]6", model="[b]\x1b[2J")
    disks = (*inventory().disks, foreign, hostile)
    acted = stage(snapshot(replace(STATUS_HERE, inventory=inventory(*disks))))
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, "plus")
        await typed(pilot, "some")
        await keys(pilot, "down", "left", "tab")
        await shows(acted, pilot, "enter chooses them")
        await keys(pilot, "enter")
        await shows(acted, pilot, "Disks by serial: 0 taken")
        text = plain(acted)
        assert "AWS00001EXAMPLE" in text
        assert "AWS[red]6" in text
        assert "\\x1b[2J" in text or size == (80, 24)
        await keys(pilot, *["down"] * 4)
        await shows(acted, pilot, "ext4")  # why it cannot be used
        await keys(pilot, "space", "up", "enter")
        await shows(acted, pilot, "Disks by serial: 2 taken")
        await keys(pilot, "ctrl+s")
        await shows(acted, pilot, "2: AWS00004EXAMPLE, AWS00005EXAMPLE")
        # Textual ignores a button that was pressed less than 0.2 s ago.
        await pilot.pause(0.25)
        await keys(pilot, "enter")
        await shows(acted, pilot, "Disks by serial: 2 taken")
        await keys(pilot, "space", "escape")
        await shows(acted, pilot, "2: AWS00004EXAMPLE, AWS00005EXAMPLE")


async def test_chosen_serials_that_no_disk_has_stay_and_can_be_left():
    layouts = FakeLayouts()
    select = Selector(kind=None, serials=("GONE1", "AWS00001EXAMPLE"))
    volume = replace(layouts.base.volumes[0], select=select)
    layouts.base = replace(layouts.base, volumes=(volume,))
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "enter", "tab", "tab", "enter", "ctrl+end")
        await shows(acted, pilot, "GONE1")
        await shows(acted, pilot, "no disk with this serial is present")
        await keys(pilot, "space", "ctrl+s")
        await shows(acted, pilot, "1: AWS00001EXAMPLE")


async def test_a_volume_that_only_disks_know_can_be_removed():
    layouts = FakeLayouts()
    layouts.base = replace(layouts.base, volumes=())
    acted = stage(snapshot(replace(STATUS_HERE, volumes=())), layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await shows(acted, pilot, "scratch – absent - - - ? undeclared")
        await keys(pilot, "minus")
        assert draft(acted).removed == ("scratch",)


async def test_without_a_list_of_disks_a_draft_can_be_made_and_says_what_is_not_known():
    # Nor is there a history: the layout is read all the same.
    acted = stage(snapshot(replace(STATUS, inventory=None), history_mark=""))
    async with acted.app.run_test(size=(80, 18)) as pilot:
        await opened(pilot)
        await shows(acted, pilot, "built-in default")
        await shows(acted, pilot, "no preview: the boot unit left no list")
        await keys(pilot, "enter")
        acted.app.screen.query_one("#field-initialise-rate Input").focus()
        await typed(pilot, "20")
        await keys(pilot, "up", "down")
        # Said below the last field, which is brought to where it can be seen.
        await shows(acted, pilot, "'20' is not allowed")
        await keys(pilot, "escape")
        assert acted.app.current_mode == "layout"


async def test_a_layout_that_cannot_be_read_says_so_and_what_was_there_stays():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        layouts.problems["current"] = OperatorError("layout.toml: [b]bad[/b]", "mend it")
        acted.clock[0] += 60
        acted.give(replace(HERE, taken_at=acted.clock[0]))
        await keys(pilot, "u")
        text = plain(acted)
        assert "▲ layout.toml: [b]bad[/b]; mend it, 1 min 00 s old" in text
        assert "✓ mounted" in text
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "plus", "p")
        assert notices(acted.app)[-1] == "Plan: layout.toml: [b]bad[/b]; mend it"


async def test_of_a_history_alone_no_layout_is_shown():
    why = "viewing the history in a.db"
    layouts = FakeLayouts(
        problems={"current": OperatorError(why, ""), "recent": OperatorError("", "")}
    )
    acted = stage(HERE, layouts=layouts, unable=why)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await shows(acted, pilot, "not available from here")
        await shows(acted, pilot, f"read-only: {why}")
        await keys(pilot, "p")
        assert notices(acted.app) == [f"Plan: {why}"]


async def test_a_source_that_hangs_freezes_no_key_press_and_shows_itself():
    never, began = Event(), Event()

    def hang(name):
        if name in {"current", "preview"}:
            began.set()
            never.wait()

    def beside(work):
        Thread(target=work, daemon=True).start()

    acted = stage(HERE, layouts=FakeLayouts(hang=hang), in_background=beside)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert began.wait(5)
        acted.clock[0] += 7
        acted.app.present()
        await settled(pilot)
        await shows(acted, pilot, "reading, for 7 s")
        await keys(pilot, "plus")
        assert notices(acted.app) == ["Add: the installed layout has not been read yet"]
        await keys(pilot, "2")
        assert acted.app.current_mode == "disks"
    never.set()


async def test_help_and_palette_have_every_action_and_the_reason_of_a_disabled_one():
    acted = stage(HERE)
    async with acted.app.run_test(size=(100, 40)) as pilot:
        await opened(pilot)
        names = {one.title: one.help for one in acted.app.get_system_commands(acted.app.screen)}
        for name in [
            "Add",
            "Edit",
            "Remove",
            "Preset",
            "Undo",
            "Discard",
            "Plan",
            "Plans",
            "Watch",
        ]:
            assert name in names
        assert names["Plans"] == "not now: nothing was planned since boot"
        await keys(pilot, "question_mark")
        await shows(acted, pilot, "have root read the disks and plan; writes nothing")


async def test_q_asks_before_a_draft_is_lost():
    acted = stage(HERE)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "minus", "1", "q")
        assert "Quit without the draft?" in screen_text(acted.app)
        await keys(pilot, "enter")
        assert acted.app.is_running
        assert len(acted.app.screen_stack) == 1
        await keys(pilot, "q", "right", "enter")
        assert acted.app._exit


async def test_a_second_ctrl_q_leaves():
    acted = stage(HERE)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "minus", "ctrl+q")
        assert len(acted.app.screen_stack) == 2
        assert "The draft will be lost." in screen_text(acted.app)
        await keys(pilot, "ctrl+q")
        assert len(acted.app.screen_stack) == 2
        assert acted.app._exit


async def test_q_leaves_at_once_without_a_draft():
    acted = stage(HERE)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "minus", "minus", "q")
        assert acted.app._exit


async def test_where_the_boot_refused_the_reason_stands_in_place_of_a_preview():
    refused = replace(
        STATUS_HERE, inventory=None, disks=(), volumes=(), health=Health.REFUSED,
        summary="layout.toml is not valid: line 3", hint="mend it and reboot",
    )  # fmt: skip
    acted = stage(snapshot(refused))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3")
        text = screen_text(acted.app)
        assert "no preview: layout.toml is not valid: line 3; mend it and reboot" in text
        assert "DRAFT" not in text
        assert "left no list" not in text
        # It is the reason of now that stands there.
        acted.give(snapshot(replace(refused, summary="layout.toml is empty", hint="")))
        await shows(acted, pilot, "no preview: layout.toml is empty")
        acted.give(snapshot(replace(refused, summary="", hint="")))
        await shows(acted, pilot, "no preview: the boot unit left no list of disks")


def test_a_preview_that_is_being_computed_is_being_read():
    lines = outcome_lines(None, "", 78, marks.UNICODE)
    assert [line.plain.strip() for line in lines[1:]] == ["reading"]
