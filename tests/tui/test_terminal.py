import pytest

from tui.terminal import POOR_THEME, RICH_THEME, THEMES, TerminalUnusable, decide


@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb"}, {"TERM": "unknown"}, {"TERM": ""}])
def test_terminal_without_cursor_control_is_refused_with_the_other_way(environ):
    with pytest.raises(TerminalUnusable) as refused:
        decide(environ)
    assert "stripewright status" in refused.value.hint


@pytest.mark.parametrize("term", ["linux", "vt100", "vt220", "screen.linux", "ansi"])
def test_poor_terminals_get_ascii_and_their_own_colours(term):
    policy = decide({"TERM": term, "LANG": "C.UTF-8"})
    assert policy.ascii_only
    assert policy.theme == POOR_THEME


@pytest.mark.parametrize(
    "term", ["xterm-256color", "tmux-256color", "screen-256color", "xterm-kitty"]
)
def test_usual_terminals_get_everything(term):
    policy = decide({"TERM": term, "LANG": "en_US.UTF-8"})
    assert not policy.ascii_only
    assert policy.theme == RICH_THEME


@pytest.mark.parametrize("term", ["xterm", "screen", "tmux", "rxvt", "xterm-16color", "foot"])
def test_terminals_of_16_colours_keep_their_own(term):
    policy = decide({"TERM": term, "LANG": "en_US.UTF-8"})
    assert not policy.ascii_only
    assert policy.theme == POOR_THEME
    assert decide({"TERM": term, "COLORTERM": "truecolor"}).theme == RICH_THEME


@pytest.mark.parametrize(("asked", "theme"), THEMES.items())
def test_a_theme_that_is_asked_for_is_shown_on_every_terminal(asked, theme):
    for environ in ({"TERM": "xterm-256color"}, {"TERM": "linux"}, {"TERM": "x", "NO_COLOR": "1"}):
        assert decide(environ, theme=asked).theme == theme
    assert decide({"TERM": "linux"}, theme=asked).ascii_only


def test_no_color_takes_the_colour_but_not_the_glyphs():
    policy = decide({"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert policy.theme == POOR_THEME
    assert not policy.ascii_only


def test_empty_no_color_means_nothing():
    assert decide({"TERM": "xterm-256color", "NO_COLOR": ""}).theme == RICH_THEME


@pytest.mark.parametrize(
    ("environ", "ascii_only"),
    [
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "de_DE.ISO-8859-15@euro"}, True),
        ({"LC_ALL": "de_DE.ISO-8859-1", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "", "LC_CTYPE": "C.utf8", "LANG": "de_DE.ISO-8859-1"}, False),
        ({"LANG": "C"}, False),
        ({}, False),
    ],
)
def test_character_set_comes_from_the_locale(environ, ascii_only):
    assert decide({"TERM": "xterm", **environ}).ascii_only is ascii_only


def test_ssh_is_noticed_and_gets_one_snapshot_a_second():
    policy = decide({"TERM": "xterm", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"})
    assert policy.remote
    assert policy.interval_seconds >= 1.0
