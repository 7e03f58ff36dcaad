"""Drafts, presets and the fields of the form, without a screen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.client.volume_rows import Change, volume_rows
from appliance.model.disks import DiskKind
from appliance.model.plans import Decision, Layout, Orders, Selector, Volume
from appliance.storage.formats.ext4 import Ext4Options
from appliance.storage.formats.xfs import XfsOptions
from appliance.storage.policy import planner
from appliance.storage.policy.layout import DEFAULT_LAYOUT, parse_layout
from appliance.storage.policy.layout_draft import (
    Draft,
    carried_names,
    differences,
    disks_words,
    is_another_shape,
    wanted,
)
from appliance.storage.policy.layout_fields import (
    COUNT,
    ROLE,
    SERIALS,
    Fields,
    about,
    check,
    fields_of,
    used_fields,
    volume_text,
)
from appliance.storage.policy.layout_presets import draft_from, presets
from appliance.storage.policy.preview import preview
from tests.tui.fake_layout import inventory, text_of
from tests.unit.disks import disk, pv

SCRATCH = DEFAULT_LAYOUT.volumes[0]
DATA = Volume(name="data", mount="/mnt/data", select=Selector(count=2))
LOGS = Volume(name="logs", mount="/mnt/logs")
EVERY_KEY = (
    SCRATCH,
    DATA,
    Volume("db", "/mnt/db", stripe="md-raid10", raid10_layout="far2", select=Selector(None, "db")),
    Volume("some", "/mnt/some", select=Selector(None, "db", count=3)),
    Volume("named", "/mnt/named", select=Selector(None, serials=("AWS00001", "AWS00002"))),
    Volume("one", "/mnt/one", stripe="single", select=Selector(count=1), on_short="accept"),
    Volume("bare", "", filesystem="none", wait_seconds=90.0, initialise_rate_bytes=200 * 1024**2),
    Volume("lv", "/mnt/x/lv", stripe="lvm-stripe", lvm_extent_bytes=8 * 1024**2),
    Volume(
        "xfs",
        "/mnt/xfs",
        on_loss="recreate",
        mount_options=("lazytime", "logbsize=256k"),
        options=XfsOptions(False, 1024, 128 * 1024**2),
    ),
    Volume(
        "ext",
        "/mnt/ext",
        filesystem="ext4",
        options=Ext4Options(64 * 1024, 1, 1024**3),
        chunk_bytes=4096,
    ),
)


# ------------------------------------------------------------------------------ the form


@pytest.mark.parametrize("volume", EVERY_KEY, ids=lambda one: one.name)
def test_what_the_form_shows_is_the_volume(volume):
    assert check(fields_of(volume), (), Layout(())) == (volume, ())
    # Beside another one, and after rules and tuning, too.
    base = parse_layout(text_of() + '[[rule]]\nmodel = "M"\nrole = "db"\n', "layout")
    other = Volume("other", "/mnt/other", select=Selector(count=1))
    assert check(fields_of(volume), (other,), base) == (volume, ())


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "a lower-case letter"),
        ({"name": "Data"}, "name", "'Data' is not allowed"),
        ({"chunk": "300KiB"}, "chunk", "a power of two"),
        ({"disks": COUNT, "count": ""}, "count", "'' is not a whole number"),
        ({"disks": COUNT, "count": "0"}, "count", "0 is out of range"),
        ({"disks": COUNT, "count": "1", "stripe": "md-raid10"}, "count", "at least 2 disks"),
        ({"disks": ROLE, "role": ""}, "role", "is not allowed"),
        ({"disks": SERIALS}, "serials", "not a list with something in it"),
        ({"mount": "/srv"}, "mount", "not below /mnt"),
        ({"wait": "1h"}, "wait", "'1h' is not allowed"),
        ({"mount_options": "nobarrier"}, "mount_options", "nobarrier"),
        ({"options": {"inode_size": "3KiB"}}, "inode_size", "3KiB"),
        ({"options": {"log_size": "1MiB"}}, "log_size", "1MiB"),
        ({"filesystem": "ext4", "options": {"reserved_percent": "60"}}, "reserved_percent", "60"),
        ({"filesystem": "ext4", "options": {"journal_size": "x"}}, "journal_size", "'x'"),
        ({"stripe": "lvm-stripe", "lvm_extent": "3MiB"}, "lvm_extent", "3MiB"),
        ({"initialise_rate": "1KiB/s"}, "initialise_rate", "1KiB/s"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(changes, field, words):
    made, problems = check(replace(fields_of(DATA), **changes), (), Layout(()))
    assert made is None
    assert [one.field for one in problems] == [field]
    assert words in problems[0].text


def test_each_field_has_its_own_mistake():
    wrong = Fields(
        name="X Y",
        chunk="3",
        mount="/srv",
        wait="1h",
        mount_options="nobarrier",
        options={"inode_size": "3KiB", "log_size": "64MiB"},
        initialise_rate="fast",
    )
    made, problems = check(wrong, (LOGS,), Layout(()))
    assert made is None
    assert [one.field for one in problems] == [
        *("name", "chunk", "mount", "wait", "mount_options", "inode_size", "initialise_rate"),
        # It takes all disks, as logs does.
        "disks",
    ]


@pytest.mark.parametrize("texts", [Fields(), Fields(filesystem="ext4", stripe="lvm-stripe")])
def test_each_field_says_what_it_means_and_what_the_decoder_takes(texts):
    for name in used_fields(texts):
        assert about(texts, name), name
    assert "4KiB to 64MiB, a power of two; default 256KiB" in about(Fields(), "chunk")
    assert "8KiB to 1MiB" in about(Fields(stripe="hw-raid0"), "chunk")
    assert "default /mnt/fast" in about(Fields(name="fast"), "mount")
    assert "largeio" in about(Fields(), "mount_options")
    assert "commit=1" in about(Fields(filesystem="ext4"), "mount_options")
    assert about(Fields(), "inode_size").endswith(
        "from 512B to 2KiB, a power of two; default mkfs.xfs decides"
    )


def test_what_two_volumes_cannot_share_is_said_at_the_new_one():
    for changes, field in (
        ({"name": "logs"}, "name"),
        ({"mount": "/mnt/logs"}, "mount"),
        ({"disks": "all", "count": ""}, "disks"),
    ):
        _, problems = check(replace(fields_of(DATA), **changes), (LOGS,), Layout(()))
        assert [one.field for one in problems] == [field]


def test_mount_is_below_mnt_by_the_name_unless_typed():
    made, _ = check(Fields(name="fast"), (), Layout(()))
    assert made.mount == "/mnt/fast"


def test_fields_that_mean_nothing_are_not_used():
    assert "chunk" not in used_fields(Fields(stripe="single"))
    assert {"raid10_layout", "lvm_extent", "count", "role", "serials"}.isdisjoint(
        used_fields(Fields())
    )
    assert {"mount", "reflink"}.isdisjoint(used_fields(Fields(filesystem="none")))
    # What was typed for another choice is left out, not refused.
    made, problems = check(
        replace(Fields(name="a"), stripe="single", chunk="x", raid10_layout="far2"), (), Layout(())
    )
    assert problems == ()
    assert made.stripe == "single"


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=20))
def test_no_text_gets_out_of_its_quotes(name, mount, chunk):
    fields = Fields(name=name, mount=mount, chunk=chunk, mount_options=mount)
    made, problems = check(fields, (LOGS,), Layout(()))
    assert (made is None) == bool(problems)
    if made is not None:
        assert made.name == name.strip()
    assert not any("not valid TOML" in one.text for one in problems)
    assert volume_text(fields).count("[[volume]]\nname = ") == 1


# ------------------------------------------------------------------------------- a draft


def test_a_draft_is_changes_and_holds_when_the_layout_changes_under_it():
    draft = Draft().with_volume(DEFAULT_LAYOUT, DATA)
    assert draft.layout(DEFAULT_LAYOUT).volumes == (SCRATCH, DATA)
    changed = replace(SCRATCH, on_loss="recreate")
    draft = draft.with_volume(DEFAULT_LAYOUT, changed, instead_of="scratch")
    assert draft.layout(DEFAULT_LAYOUT).volumes == (changed, DATA)
    by_another = Layout((SCRATCH, LOGS))
    assert draft.layout(by_another).volumes == (changed, LOGS, DATA)
    # Changed back it is no change.
    assert draft.with_volume(DEFAULT_LAYOUT, SCRATCH).layout(DEFAULT_LAYOUT).volumes == (
        SCRATCH,
        DATA,
    )


def test_another_name_is_another_volume():
    renamed = replace(SCRATCH, name="fast", mount="/mnt/fast")
    draft = Draft().with_volume(DEFAULT_LAYOUT, renamed, instead_of="scratch")
    text, remove = wanted(DEFAULT_LAYOUT, draft)
    assert remove == ("scratch",)
    assert parse_layout(text, "draft").volumes == (renamed,)
    # A volume that is only of the draft is simply called otherwise.
    draft = Draft().with_volume(DEFAULT_LAYOUT, DATA)
    draft = draft.with_volume(DEFAULT_LAYOUT, replace(DATA, name="fast"), instead_of="data")
    assert [one.name for one in draft.edits] == ["fast"]
    assert draft.removed == ()


def test_removing_and_keeping():
    draft = Draft().with_volume(DEFAULT_LAYOUT, DATA).without(DEFAULT_LAYOUT, "data")
    assert draft.is_empty
    draft = draft.without(DEFAULT_LAYOUT, "scratch")
    text, remove = wanted(DEFAULT_LAYOUT, draft)
    assert remove == ("scratch",)
    assert parse_layout(text, "draft").volumes == ()
    assert draft.keeping("scratch").is_empty
    assert wanted(DEFAULT_LAYOUT, Draft()) == (None, ())
    # Of one that no layout declares any more, only the disks know.
    assert Draft().without(DEFAULT_LAYOUT, "old", carried={"old"}).removed == ("old",)
    assert Draft().without(DEFAULT_LAYOUT, "old").is_empty


def test_two_plans_lead_to_a_volume_of_the_same_name():
    other = replace(SCRATCH, chunk_bytes=64 * 1024)
    draft = Draft().in_two_plans(DEFAULT_LAYOUT, other)
    assert wanted(DEFAULT_LAYOUT, draft)[1] == ("scratch",)
    assert draft.layout(DEFAULT_LAYOUT).volumes == ()
    # The first plan has installed a layout without it, and not released all disks yet.
    nothing = Layout(())
    assert draft.carried_on(nothing, {"scratch"}) == draft
    after = draft.carried_on(nothing, ())
    assert after == Draft(edits=(other,))
    assert after.carried_on(Layout((other,)), {"scratch"}).is_empty


def test_carried_names_are_those_of_arrays_and_groups():
    found = inventory(*inventory().disks[:2], pv(7, group="stripewright-logs"))
    assert carried_names(found) == {"scratch"}
    assert carried_names(None) == frozenset()


def test_differences_in_words():
    after = replace(
        SCRATCH, chunk_bytes=65536, select=Selector(count=2), options=XfsOptions(reflink=False)
    )
    assert differences(SCRATCH, after, "->") == (
        "disks all instance storage -> 2 instance storage",
        "chunk 256KiB -> 64KiB",
        "xfs options",
    )
    assert disks_words(Selector(None, "db")) == "all of role db"
    assert is_another_shape(SCRATCH, after)
    assert not is_another_shape(SCRATCH, replace(SCRATCH, on_loss="recreate", wait_seconds=1))


# ------------------------------------------------------------------------------- presets


@pytest.mark.parametrize("preset", presets(inventory()), ids=lambda one: one.key)
def test_each_preset_can_be_planned_on_four_disks_as_they_are(preset):
    assert preset.why_not == ""
    draft = draft_from(preset, DEFAULT_LAYOUT, carried_names(inventory()))
    text, remove = wanted(DEFAULT_LAYOUT, draft)
    if preset.key == "one":
        assert draft.is_empty
        return
    layout = parse_layout(text, "draft")
    plan = planner.plan(
        inventory(), layout, waited=True, orders=Orders(remove=remove, declare="a" * 64)
    )
    decisions = {one.name: one.decision for one in plan.volumes}
    assert decisions.pop("scratch") is Decision.REMOVE
    assert set(decisions.values()) == {Decision.CREATE}
    used = [path for one in plan.volumes[1:] for path in one.disks]
    assert sorted(used) == sorted(one.path for one in inventory().disks)


def test_from_two_halves_back_to_one_stripe():
    base = Layout((DATA, LOGS))
    one = presets(inventory())[0]
    draft = draft_from(one, base)
    assert draft.removed == ("data", "logs")
    assert draft.layout(base).volumes == (SCRATCH,)


def test_a_name_that_is_taken_gets_a_number_and_mounts_there():
    ext4 = next(one for one in presets(inventory()) if one.key == "ext4")
    draft = draft_from(ext4, DEFAULT_LAYOUT)
    assert [(one.name, one.mount, one.filesystem) for one in draft.edits] == [
        ("scratch2", "/mnt/scratch2", "ext4")
    ]


def test_presets_say_what_they_lack():
    one_disk = inventory(disk(1))
    why = {one.key: one.why_not for one in presets(one_disk)}
    assert why["one"] == ""
    assert why["halves"] == "it needs two disks of instance storage; 1 found"
    assert all(one.why_not for one in presets(None))
    network = replace(disk(1), kind=DiskKind.NETWORK)
    assert presets(replace(one_disk, disks=(network,)))[0].why_not


# ---------------------------------------------------------------------------------- rows


def test_rows_put_side_by_side_what_is_what_was_declared_and_what_is_wanted():
    draft = Draft().without(DEFAULT_LAYOUT, "scratch").with_volume(DEFAULT_LAYOUT, DATA)
    found = preview(draft.layout(DEFAULT_LAYOUT), inventory(), draft.removed)
    rows = volume_rows(DEFAULT_LAYOUT, draft, None, found, {"scratch", "old"})
    assert [(one.name, one.change) for one in rows] == [
        ("scratch", Change.REMOVED),
        ("data", Change.NEW),
        ("old", Change.UNDECLARED),
    ]
    assert rows[0].comes_to.decision is Decision.REMOVE
    assert rows[1].comes_to.capacity_bytes > 0
