"""What goes wrong in the rig, with what to do about it."""

from __future__ import annotations


class RigError(Exception):
    """The rig cannot go on; ``hint`` says where to look or what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.args[0]}\nhint: {self.hint}"
