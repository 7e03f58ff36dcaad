"""What ``:`` lists may be named anything; keys may come before a screen has its parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from tests.tui.driving import settled
from tests.tui.fakes import snapshot, stage
from tui.jump import literal
from tui.tabs import TABS


@given(st.text("[]/\\a b#@=\"'{}", max_size=12))
def test_any_name_is_shown_as_it_is(text: str) -> None:
    assert Content.from_markup(literal(text) + literal("]")).plain == text + "]"


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
def test_nothing_can_be_done_before_a_screen_has_its_parts(tab) -> None:
    screen = tab.make()
    for entry in screen._bindings.key_to_bindings.values():
        assert all(screen.check_action(one.action, ()) is None for one in entry)


async def test_all_is_drawn_again_after_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        asked = []
        screen = acted.app.screen
        monkeypatch.setattr(screen, "refresh", lambda **how: asked.append(how))
        acted.app.app_resume_signal.publish(acted.app)
        await settled(pilot)
        assert {"layout": True} in asked
