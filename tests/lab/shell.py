"""Programs of the guest, run by the lab itself."""

from __future__ import annotations

import subprocess


def sh(*argv: str, check: bool = True) -> str:
    """Run a program in the guest and return what it printed."""
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"{argv}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout
