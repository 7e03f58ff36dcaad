"""``tui --db FILE``: a copied history on any machine; nothing of that machine is mixed in."""

import importlib
import sys
from dataclasses import replace

import pytest

from appliance import paths
from appliance.errors import OperatorError
from appliance.history.store import History
from appliance.model.runs import RunState
from tests.tui.driving import notices, until
from tests.tui.fakes import screen_text
from tests.unit.histories import FINGERPRINT, RESULT, begin
from tui import marks, start
from tui.feed import Feed
from tui.sources.history import HistorySources
from tui.tabs import TABS
from tui.terminal import RICH_THEME

# What a laptop may not have.
ABSENT = ("systemd", "systemd.journal", "pyudev", "psutil")
WHY = "viewing the history in"


def fill(db):
    """Two runs of a stripe of two, in an epoch of the appliance."""
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch({**FINGERPRINT, "serials": "AWS[1],AWS2"})
        for iops in (800_000.0, 581_387.0):
            run = begin(history, time_factor=1.0)
            history.update_run(run, epoch_id=epoch.id)
            history.add_result(run, replace(RESULT, iops=iops, member=""), raw_report="{}")
            history.finish_run(run, RunState.COMPLETE)


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "copy.db"
    fill(path)
    return path


@pytest.fixture
def elsewhere(monkeypatch):
    """A machine of which nothing may be asked: each question to it is an error."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def asked(*_, **__):
        raise AssertionError("this machine was asked")

    for name in (
        "appliance.client.machine_status.read_status",
        "appliance.client.machine_status.next_run_at",
        "appliance.bench.sampler.read_counters",
        "appliance.client.plan_requests.current_layout",
        "appliance.client.plan_requests.recent_plans",
        "appliance.client.plan_requests.applying",
        "appliance.client.schedule_requests.schedule_now",
        "appliance.system.services.systemd_is_running",
        "appliance.system.services.unit_state",
        "appliance.system.process.run",
        "tui.sources.journal_reader.SystemJournal",
        "socket.gethostname",
    ):
        monkeypatch.setattr(name, asked)


def stopped():
    """A clock on which nothing grows old."""
    return 1000.0


async def started(pilot, app):
    await until(pilot, lambda: app.snapshot is not None and app.snapshot.status is not None)
    await pilot.pause()
    await pilot.pause()


def app_over(db, **wanted):
    """The real application over ``db``; its feed does its turns when it is asked to."""
    # Here, because a test below loads all modules anew.
    from tui.app import StripewrightApp

    world = start.world(db, **wanted)

    class Pumped(Feed):
        def start(self):
            self.post(self.step())

    return StripewrightApp(
        replace(
            world,
            feed=lambda post: Pumped(HistorySources(db), post, clock=stopped),
            clock=stopped,
            in_background=lambda work: work(),
        )
    )


async def test_a_history_shows_what_it_knows_on_every_screen(db, elsewhere):
    app = app_over(db)
    async with app.run_test(size=(100, 40)) as pilot:
        await started(pilot, app)
        text = screen_text(app)
        assert "◆ HISTORY" in text.splitlines()[0]
        assert "✓ live" not in text
        assert "HEALTHY" not in text
        for words in (
            "i3.4xlarge",
            "nothing here is live",
            str(db)[-30:],
            "md-raid0 of 2, chunk 256 KiB",
            "kernel 6.12.1, fio fio-3.39",
            "LAST SUITE smoke",
            "✗ COVERAGE",
            "LAST RUNS",
        ):
            assert words in text, words
        await pilot.press("2")
        await started(pilot, app)
        text = screen_text(app)
        assert "AWS[1]" in text
        assert "◆ member" in text
        assert "member 1 of 2 of volume 1 in epoch 1" in text
        assert "2 members; the history knows no other disks" in text.splitlines()[2]
        await pilot.press("6")
        await started(pilot, app)
        text = screen_text(app)
        assert "the longest series has 0" in text
        assert "never checked yet" in text
        assert "nothing has drifted" not in text
        for tab in TABS:
            await pilot.press(tab.key)
            await started(pilot, app)
            assert "HISTORY" in screen_text(app).splitlines()[0]
            assert "this machine was asked" not in screen_text(app)
            await pilot.press("u")
        await pilot.press("5")
        await started(pilot, app)
        assert "smoke" in screen_text(app)
        assert "─ 2 runs" in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_nothing_can_be_started_from_a_history(db, elsewhere, size):
    app = app_over(db)
    async with app.run_test(size=size) as pilot:
        await started(pilot, app)
        await pilot.press("s", "x")
        await pilot.pause()
        told = notices(app)
        assert len(told) == 2
        assert all(WHY in one and str(db) in one for one in told)
        await pilot.press("m", "v")
        await pilot.pause()
        assert notices(app)[-1] == "Volume: there are no live figures of a volume"


def test_sources_that_a_history_has_not_say_why(db):
    world = start.world(db)
    for question in (
        lambda: world.control.start("smoke", ""),
        world.layouts.current,
        world.suites.schedule,
        lambda: world.suites.set_schedule(""),
    ):
        with pytest.raises(OperatorError):
            question()
    assert world.suites.catalog().last["smoke"].run.id == 2
    assert world.unable.startswith(f"viewing the history in {db}")


def test_the_own_history_is_the_machine_s(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("appliance.system.services.systemd_is_running", lambda: True)
    world = start.world(paths.HISTORY_DB)
    assert (world.history, world.unable) == ("", "")
    assert start.world(paths.HISTORY_DB, readonly=True).unable.endswith("--readonly")


@pytest.mark.parametrize("content", [None, b"", b"not a database" * 100])
async def test_a_file_that_is_no_history_is_told_in_words(tmp_path, elsewhere, content):
    path = tmp_path / "odd.db"
    if content is not None:
        path.write_bytes(content)
    app = app_over(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await started(pilot, app)
        text = screen_text(app)
        assert "HISTORY" in text
        assert "odd.db" in text
        assert "history    " in text
        for tab in TABS:
            await pilot.press(tab.key)
            await started(pilot, app)
        assert app.is_running
        assert path.exists() is (content is not None)


def test_disks_are_as_many_as_the_fingerprint_has(db):
    status = HistorySources(db).status()
    assert [(disk.path, disk.serial) for disk in status.disks] == [
        ("nvme0n1", "AWS[1]"),
        ("nvme1n1", "AWS2"),
    ]
    assert status.volumes == ()
    assert status.next_run_at is None


async def test_a_laptop_without_systemd_root_or_udev(db, monkeypatch):
    """Every module is loaded anew where the packages of an appliance cannot be imported."""
    monkeypatch.setenv("TERM", "xterm-256color")
    ours = [name for name in sys.modules if name.partition(".")[0] in {"tui", "appliance"}]
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    for name in ABSENT:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        world = importlib.import_module("tui.start").world(db)
        app_module = importlib.import_module("tui.app")
        source = importlib.import_module("tui.sources.history").HistorySources(db)
        feed = importlib.import_module("tui.feed").Feed

        class Pumped(feed):
            def start(self):
                self.post(self.step())

        app = app_module.StripewrightApp(
            replace(
                world,
                feed=lambda post: Pumped(source, post, clock=stopped),
                clock=stopped,
                in_background=lambda work: work(),
            )
        )
        async with app.run_test(size=(80, 24)) as pilot:
            await started(pilot, app)
            assert "HISTORY" in screen_text(app)
            for tab in TABS:
                await pilot.press(tab.key)
                await started(pilot, app)
                text = screen_text(app)
                assert "ModuleNotFoundError" not in text
                assert "ImportError" not in text
            assert app.theme == RICH_THEME
    finally:
        for name in [one for one in sys.modules if one.partition(".")[0] in {"tui", "appliance"}]:
            if name not in ours:
                del sys.modules[name]


def test_the_mark_of_a_history_is_glyph_and_word():
    assert marks.history(marks.UNICODE).text == "◆ HISTORY"
    assert marks.history(marks.ASCII).text == "* HISTORY"
