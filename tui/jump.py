"""Going to a disk, volume, run or finding by its name: what ``:`` lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from appliance.text import moment
from tui.snapshot import Snapshot
from tui.widgets.panel import clean

if TYPE_CHECKING:
    from appliance.history.pages import RunSummary
    from appliance.model.findings import FindingRecord
    from tui.app import StripewrightApp

_RUN = re.compile(r"(?:run *)?(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Target:
    """``name`` finds it, together with ``about``; ``mode`` shows it, and knows it as ``at``."""

    name: str
    about: str
    mode: str
    at: str


def things(snapshot: Snapshot | None) -> list[Target]:
    """The volumes and disks of ``snapshot``."""
    status = None if snapshot is None else snapshot.status
    if status is None:
        return []
    volumes = [
        Target(f"volume {clean(one.name)}", clean(one.mount or one.reason), "layout", one.name)
        for one in status.volumes
    ]
    disks = [
        Target(
            f"disk {clean(one.path.removeprefix('/dev/'))}",
            f"{clean(one.serial)}  {clean(one.model)}",
            "disks",
            one.serial or one.path,
        )
        for one in status.disks
    ]
    return volumes + disks


def records(runs: Iterable[RunSummary], findings: Iterable[FindingRecord]) -> list[Target]:
    """The ``findings``, and the ``runs``."""
    return [
        Target(
            f"finding {one.id}",
            clean(f"{one.fact.code} {one.fact.subject} {one.fact.member}: {one.fact.summary}"),
            "drift",
            str(one.id),
        )
        for one in findings
    ] + [
        Target(
            f"run {one.run.id}",
            clean(f"{one.run.suite} {one.run.state.value}, {moment(one.run.started_at)}"),
            "results",
            str(one.run.id),
        )
        for one in runs
    ]


def literal(text: str) -> str:
    """``text`` as Textual's markup of itself. Its own ``escape`` misses a bracket that is closed
    only behind the text, and the palette ends with an error.
    """
    return text.replace("[", "\\[")


class JumpProvider(Provider):
    """Finds what is typed in names and what is said of them; any run by its number."""

    @property
    def _main(self) -> StripewrightApp:
        return cast("StripewrightApp", self.app)

    async def discover(self) -> Hits:
        for one in self._main.targets():
            yield DiscoveryHit(literal(one.name), self._going(one), help=literal(one.about))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        targets = self._main.targets()
        for one in targets:
            score = max(matcher.match(one.name), 0.9 * matcher.match(one.about))
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(literal(one.name)),
                    self._going(one),
                    help=literal(one.about),
                )
        number = _RUN.fullmatch(query.strip().lower())
        if number and all(one.name != f"run {number[1]}" for one in targets):
            run = Target(f"run {number[1]}", "an older run", "results", number[1])
            yield Hit(1.0, run.name, self._going(run), help=run.about)

    def _going(self, one: Target) -> partial[None]:
        return partial(self._main.visit, one.mode, one.at)
