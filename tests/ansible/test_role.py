"""The Ansible role, played on this machine below a folder: package, answers, and what runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.conftest import new_history, result

TREE = Path(__file__).parents[2]
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")
__all__ = ["new_history"]
pytestmark = pytest.mark.skipif(not PLAYBOOK.exists(), reason="ansible-core is part of make fleet")
SITE = """
- hosts: all
  gather_facts: false
  roles: [stripewright]
"""


def play(folder: Path, **given: object) -> str:
    (folder / "site.yml").write_text(SITE)
    answers = {
        "stripewright_config": str(folder / "etc"), "stripewright_prefix": str(folder / "opt"),
        "stripewright_bin": str(folder / "stripewright"), "stripewright_units": str(folder),
        "stripewright_outbox": str(folder / "outbox"), "stripewright_start": False,
        "stripewright_history": str(folder / "history.db"),
        "ansible_python_interpreter": sys.executable, **given,
    }  # fmt: skip
    argv = [
        PLAYBOOK, "-i", "localhost,", "-c", "local", folder / "site.yml", "-e", json.dumps(answers),
    ]  # fmt: skip
    environment = {**os.environ, "ANSIBLE_ROLES_PATH": str(TREE / "docs/ansible/roles"),
                   "ANSIBLE_LOCAL_TEMP": str(folder / "tmp")}  # fmt: skip
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-2]


def test_answers_reach_a_machine_that_runs_the_image_and_a_second_play_changes_nothing(tmp_path):
    layout = tmp_path / "given.toml"
    layout.write_text('[[volume]]\nname = "scratch"\nmount = "/mnt/scratch"\n')
    assert "changed=2" in play(tmp_path, stripewright_layout=str(layout))
    assert (tmp_path / "etc/layout.toml").read_text() == layout.read_text()
    assert not (tmp_path / "etc/schedule.toml").exists()
    assert "changed=0" in play(tmp_path, stripewright_layout=str(layout))


def test_the_package_runs_and_leaves_parquet(tmp_path, new_history):
    argv = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, TREE]
    subprocess.run(argv, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("stripewright-*.whl")
    play(tmp_path, stripewright_package=str(wheel))
    history = new_history("node-1", [[result()]])
    history.rename(tmp_path / "history.db")
    unit = (tmp_path / "stripewright-outbox.service").read_text()
    (line,) = [one for one in unit.splitlines() if one.startswith("ExecStart=")]
    subprocess.run(line.removeprefix("ExecStart=").split(), check=True, capture_output=True)
    assert list((tmp_path / "outbox").rglob("results/*/*.parquet"))
    assert "changed=0" in play(tmp_path, stripewright_package=str(wheel))
