"""The screens through tmux in 256 colours, as most people see them."""

import shutil

import pytest
from rich.color import Color, ColorSystem

from tests.tui.capture import through_tmux
from tui.theme import DARK


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_colour_of_a_warning_arrives(tmp_path):
    through_tmux(tmp_path, "refused")
    warning = Color.parse(str(DARK.warning)).downgrade(ColorSystem.EIGHT_BIT).number
    assert f"\x1b[38;5;{warning}m▲ REFUSED\x1b[" in (tmp_path / "refused.txt").read_text()
