"""What the tests with real fio share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users can look into, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="stripewright-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
