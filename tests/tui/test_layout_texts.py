"""What the Layout screen says of plans, of typed names, and of steps; without a screen."""

import shlex
from dataclasses import replace

import pytest

from appliance.client.apply_progress import StepState, Watched
from appliance.client.plan_requests import ApplyEnd, AskedApply
from appliance.model.plans import Decision, Destruction, Layout, Selector, Volume
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy.preview import Preview, PreviewDisk
from tests.tui.fake_layout import inventory, planned, progress, text_of
from tests.unit.disks import disk
from tui import marks
from tui.widgets.layout import outcome_lines
from tui.widgets.layout_plan import (
    DECLARATION,
    command_lines,
    confirm_words,
    destroyed,
    names_to_type,
    not_yet_confirmed,
    plan_lines,
)
from tui.widgets.layout_progress import end_lines, end_mark, steps_lines, title_words

DATA = Volume(name="data", mount="/mnt/data", select=Selector(count=2))
LOGS = Volume(name="logs", mount="/mnt/logs")
TWO = planned(Request(text_of(DATA, LOGS), ("scratch",), ()))
NAMES = ("scratch", "data", "logs")


def text(lines):
    return "\n".join(line.plain for line in lines)


def test_all_that_is_made_or_lost_has_to_be_typed():
    assert names_to_type(TWO.plan) == NAMES
    assert confirm_words(TWO.plan, NAMES) == [
        ("scratch", "is taken down: ALL DATA ON IT IS DESTROYED", True),
        ("data", "is created, empty", False),
        ("logs", "is created, empty", False),
    ]


def test_where_nothing_is_lost_those_with_something_to_do_are_typed():
    same = planned(Request(None, (), ()))
    assert same.plan.decision is Decision.ASSEMBLE
    assert names_to_type(same.plan) == ("scratch",)
    only_text = replace(same.plan, steps=TWO.plan.steps[:1], volumes=())
    assert only_text.steps[0].argv[2] == "declare"
    assert names_to_type(only_text) == (DECLARATION,)
    assert confirm_words(only_text, (DECLARATION,))[0][1] == (
        "only the text of the layout is replaced"
    )


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "still to type: scratch data logs"),
        ("scratch", "still to type: data logs"),
        ("scratch, logs,data", ""),
        ("  logs\tdata scratch ", ""),
        ("scratch data log", "'log' is not one of the names asked for"),
        ("scratch data logs more", "'more' is not one of the names asked for"),
        ("SCRATCH data logs", "'SCRATCH' is not one of the names asked for"),
        ("scr\x1batch", "'scr\\\\x1batch' is not one of the names asked for"),
    ],
)
def test_only_exactly_the_names_confirm(typed, why):
    assert not_yet_confirmed(NAMES, typed) == why


def test_what_is_erased_by_order_is_confirmed_as_it_is_shown():
    names = ("data", "erase AB;C\u202e1")
    asked = "data erase AB;C\\u202e1"
    assert not_yet_confirmed(names, asked) == ""
    assert not_yet_confirmed(names, "data erase") == "still to type: AB C\\u202e1"


def test_what_is_destroyed_is_said_by_disk_with_what_it_holds_now():
    lost = destroyed(TWO.plan)
    assert [one.path for one in lost] == [f"/dev/nvme{number}n1" for number in range(1, 5)]
    assert {one.holds for one in lost} == {"member of 'scratch', its data is destroyed"}
    shown = text(plan_lines(TWO, 76, marks.UNICODE, comments=True))
    for number in range(1, 5):
        assert shown.count(f"AWS0000{number}EXAMPLE  ") == 1
    assert "✗ nvme1n1   AWS00001EXAMPLE      3.41 TiB  member of 'scratch'" in shown
    assert "comments in it are not kept" in shown
    assert shown.index("WHAT IS DESTROYED") < shown.index("15 STEPS")
    assert TWO.plan.digest in shown


def test_the_plan_shows_every_argument_of_every_step():
    for width in (60, 76, 140):
        lines = plan_lines(TWO, width, marks.ASCII, comments=False)
        assert all(line.cell_length <= width for line in lines)
        joined = text(lines).replace("\\\n", " ").split()
        for step in TWO.plan.steps:
            for word in step.argv:
                if len(word) < width - 10:
                    assert shlex.quote(word) in joined


def test_a_long_word_goes_on_in_the_next_line_and_nothing_is_left_out():
    word = "/dev/disk/by-id/" + "x" * 100
    lines = command_lines(("mdadm", word, "-a b"), 40)
    assert all(len(line) <= 40 for line in lines)
    assert "".join(line.rstrip("\\").strip() for line in lines).replace(" ", "") == (
        "$mdadm" + word + "'-ab'"
    )


def test_hostile_words_of_a_plan_are_shown_as_text():
    volumes = (replace(TWO.plan.volumes[1], reason="\x1b[31m[red]gone[/]"),)
    made = replace(TWO, plan=replace(TWO.plan, volumes=volumes))
    assert "\\x1b[31m[red]gone[/]" in text(plan_lines(made, 76, marks.UNICODE, comments=False))


# ---------------------------------------------------------------------------------- steps


def watched(*looks):
    made = Watched(AskedApply(TWO.plan.digest, "unit", 100.0), TWO.plan)
    for look in looks:
        made = made.seen(look)
    return made


def ended(code, message, at_s=130.0):
    return ApplyEnd(TWO.plan.digest, code, message, "look there", at_s)


def states(made):
    return [made.state(number).value for number in range(1, len(TWO.plan.steps) + 1)]


def test_steps_that_were_passed_are_done_with_their_time():
    made = watched(None, progress(TWO, 1, 101.0), progress(TWO, 2, 103.0), progress(TWO, 5, 110.0))
    assert states(made)[:6] == ["done"] * 4 + ["running", "waiting"]
    assert made.seconds(1, 112.0) == 2.0
    # Its end was not seen.
    assert made.seconds(2, 112.0) is None
    assert made.seconds(5, 112.0) == 2.0
    lines, at = steps_lines(made, 112.0, 76, marks.UNICODE)
    shown = text(lines)
    assert "  1. ✓ done       install the layout that this plan was made for, 2 s" in shown
    assert "▶ running    mark the disk as released from 'scratch'" in shown
    assert lines[at].plain.startswith("  5. ")
    assert "$ stripewright chore release scratch" in shown
    assert "it continues if you leave" in text(end_lines(made, 76, marks.UNICODE))
    assert title_words(made).endswith("step 5 of 15")


def test_a_step_that_failed_ends_its_volume_and_the_others_go_on():
    made = watched(
        progress(TWO, 7, 105.0),
        progress(TWO, 11, 106.0),
        progress(TWO, 15, 109.0),
        ended(1, "step 8 of 15 failed: mkfs.xfs: exit status 1 (done before: mdadm)"),
    )
    assert states(made) == (["done"] * 7 + ["failed"] + ["not run"] * 2 + ["done"] * 5)
    shown = text(end_lines(made, 76, marks.UNICODE))
    assert "✗ FAILED" in shown
    assert "done before: mdadm" in shown
    assert "next  look there" in shown


def test_after_a_failed_removal_nothing_else_is_run():
    made = watched(
        progress(TWO, 3, 105.0), ended(1, "step 3 of 15 failed: the disk is busy (done before: x)")
    )
    assert states(made) == ["done"] * 2 + ["failed"] + ["not run"] * 12


def test_what_was_not_begun_is_not_run_and_says_so():
    made = watched(ended(4, "the disks are no longer what the plan was made for"))
    assert set(states(made)) == {"not run"}
    shown = text(end_lines(made, 76, marks.UNICODE))
    assert "▲ STALE" in shown
    assert "no step was started" in shown


def test_an_end_that_names_no_step_leaves_the_last_one_unclear():
    made = watched(progress(TWO, 3, 105.0), ended(1, "stopped between steps"))
    assert states(made)[:4] == ["done", "done", "unclear", "not run"]


def test_all_steps_are_done_at_a_good_end_also_those_that_were_too_quick_to_see():
    made = watched(progress(TWO, 3, 105.0), ended(0, "done in 9 s"))
    assert set(states(made)) == {"done"}
    assert end_mark(made.end, marks.ASCII).text == "+ DONE"


def test_of_anothers_plan_at_least_the_present_step_is_shown():
    made = replace(watched(progress(TWO, 7, 105.0)), plan=None)
    lines, at = steps_lines(made, 106.0, 76, marks.UNICODE)
    assert lines[at].plain.startswith("  7. ▶ running    stripe 2 disks")
    assert made.state(1) is StepState.DONE


def test_blank_disks_are_written_and_nothing_is_lost():
    blank = inventory(*(disk(number) for number in range(1, 5)))
    made = planned(Request(text_of(DATA, LOGS), (), ()), found=blank)
    shown = text(plan_lines(made, 76, marks.UNICODE, comments=False))
    assert "✓ nothing" in shown
    assert "◆ nvme1n1 AWS00001 838 GiB blank" in " ".join(shown.split())
    assert "✗" not in shown


def test_nothing_is_said_of_a_plan_with_nothing_to_do():
    made = planned(Request(text_of(), (), ()), found=inventory(), base=Layout(()))
    shown = text(plan_lines(made, 76, marks.ASCII, comments=False))
    assert "+ nothing" in shown


def test_the_sizes_of_disks_stand_below_each_other():
    sizes = (2**36, 10**13)
    lost = tuple(Destruction("/dev/nvme1n1", "", "A", size, "ext4") for size in sizes)
    unused = tuple(PreviewDisk("/dev/nvme2n1", "B", size, "is small " * 9) for size in sizes)
    lines = text(outcome_lines(Preview(Decision.CREATE, (), unused, lost), "", 80, marks.UNICODE))
    ends = [line.index("iB ") for line in lines.splitlines() if "iB " in line]
    assert len(ends) == 4
    assert len(set(ends)) == 1
