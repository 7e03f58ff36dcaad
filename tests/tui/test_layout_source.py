"""What the Layout screen asks of the machine: nothing that root does not hand out."""

import json

from appliance import paths
from appliance.client.plan_requests import ApplyProgress
from appliance.errors import UsageError
from appliance.system.services import APPLY_UNIT
from tests.tui.fake_layout import inventory
from tests.unit.disks import LAYOUT
from tui.sources.layout import Layouts
from tui.sources.machine import MachineSources

PROGRESS = ApplyProgress("d" * 64, 2, 9, "why", ("mdadm",), "scratch", 12.5)


def test_anothers_plan_is_followed_by_its_unit_from_the_step_that_was_seen():
    asked = Layouts().follow(PROGRESS)
    assert asked.unit == APPLY_UNIT.format(digest="d" * 64)
    assert asked.asked_at_monotonic_s == 12.5


def test_what_was_planned_is_read_again_when_something_was_planned(tmp_path, monkeypatch):
    plans = tmp_path / "plans"
    monkeypatch.setattr(paths, "PLANS_DIR", plans)
    monkeypatch.setattr(paths, "DIGESTS_DIR", tmp_path / "digests")
    layouts = Layouts()
    assert layouts.recent() == ()
    plans.mkdir()
    assert layouts.recent() == ()
    document = {
        "at_monotonic_s": 5.0,
        "request": {"layout_text": None, "remove": [], "erase": []},
        "plan": {"digest": "d" * 64, "decision": "create",
                 "steps": [{"argv": [], "why": ""}],
                 "volumes": [{"name": "data", "decision": "create", "reason": ""}]},
    }  # fmt: skip
    (plans / "one.json").write_text(json.dumps(document))
    assert [note.words for note in layouts.recent()] == ["data: create"]
    assert layouts.recent() is layouts.recent()


def test_a_draft_that_is_no_layout_is_named_as_what_it_is():
    try:
        Layouts().request("volume = 3", ())
    except UsageError as error:
        assert error.message.startswith("the draft: ")


def test_preview_and_progress_ask_nobody(tmp_path, monkeypatch):
    made = Layouts().preview(LAYOUT, inventory(), ())
    assert [one.name for one in made.volumes] == ["scratch"]
    monkeypatch.setattr(paths, "APPLY_FILE", tmp_path / "apply.json")
    sources = MachineSources(tmp_path / "history.db")
    assert sources.applying() is None
    paths.APPLY_FILE.write_text("not JSON")
    assert sources.applying() is None
