"""What the Fleet screen asks of the Parquet of many machines; it may take long or fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.fleet.overview import Survey


class Fleets:
    """The fleet in ``place``, a folder or an object store. ``step`` is what is being read."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.step = ""

    def survey(self) -> Survey:
        """Everything; takes a minute for a thousand machines. Raises OperatorError."""
        from appliance.fleet import overview

        return overview.survey(self.place, self._tell)

    def _tell(self, step: str) -> None:
        self.step = step
