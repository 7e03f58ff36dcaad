"""A feed that fails or hangs shows its data as old, with the age, and keys still work."""

from tests.tui.fakes import screen_text, snapshot, stage


async def test_silent_feed_is_shown_as_stale_with_its_age():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert "✓ live" in screen_text(acted.app)
        acted.clock[0] += 42
        acted.app.present()
        await pilot.pause()
        text = screen_text(acted.app)
        assert "▲ 42 s old" in text.splitlines()[0]
        assert "✓ live" not in text
        assert "stale      this is 42 s old" in text
        assert "1.60 GiB/s" in text  # old figures stay to be read
        await pilot.press("2")
        await pilot.pause()
        await pilot.pause()
        assert "42 s old" in screen_text(acted.app).splitlines()[0]
        acted.give(
            snapshot(taken_at=acted.clock[0], status_at=acted.clock[0], live_at=acted.clock[0])
        )
        await pilot.pause()
        await pilot.pause()
        assert "✓ live" in screen_text(acted.app)


async def test_failing_status_names_its_problem():
    acted = stage(snapshot(status_at=980.0, status_problem="database is locked"))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert "this is 20 s old: database is locked" in screen_text(acted.app)


async def test_first_reading_that_hangs_says_for_how_long():
    acted = stage(None)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        acted.clock[0] += 31
        acted.app.present()
        await pilot.pause()
        assert "the state of this machine, for 31 s now" in screen_text(acted.app)


async def test_first_reading_that_fails_is_not_silent():
    acted = stage(
        snapshot(None, status_at=None, live=(), status_problem="state.json: not readable")
    )
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert "state.json: not readable" in screen_text(acted.app)
