"""A real Prometheus scrapes our endpoint and a real node exporter; each alert fires and clears."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from appliance import paths
from appliance.model.findings import DriftSeverity, Fact
from appliance.model.measurement import Finding, Severity
from appliance.system import journal, liveness
from tests.monitoring.machine import FileMachine
from tests.monitoring.programs import (
    ALERTMANAGER,
    RULES,
    TREE,
    Peers,
    Receivers,
    ask,
    checked,
    free_port,
    hurried,
    needs_programs,
    running,
    within,
)

pytestmark = [
    needs_programs,
    pytest.mark.skipif(
        shutil.which("systemd-socket-activate") is None, reason="there is no systemd here"
    ),
]
_OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_SOON = 60.0
_FACT = Fact(
    "MOUNT-OPTIONS", "scratch", "other options", "x", DriftSeverity.WARNING, volume="scratch"
)
_BLOCKED = (Finding("SHORT", Severity.BLOCK, "too short"),)
# By severity; what a volume that is not there explains is not told beside it.
_TOLD = {
    "pager": {
        "StripewrightVolumeUnhealthy", "StripewrightMemberMissing", "StripewrightMachineUnhealthy",
    },
    "tickets": {
        "StripewrightFinding", "StripewrightLastRunInvalid", "StripewrightBelowNormal",
        "StripewrightBelowPublished", "StripewrightMemberSlow", "StripewrightExporterAbsent",
    },
    "digest": {"StripewrightBehindFleet"},
}  # fmt: skip
_CONFIG = """
global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}}
rule_files: [{rules}]
alerting:
  alertmanagers: [{{static_configs: [{{targets: ["127.0.0.1:{alertmanager}"]}}]}}]
scrape_configs:
  - job_name: stripewright
    scrape_interval: 4s
    scrape_timeout: 4s
    static_configs: [{{targets: ["127.0.0.1:{endpoint}"]}}]
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{node}"]}}]
  - job_name: peers
    static_configs: [{{targets: [{peers}]}}]
"""


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    # A machine of files puts itself in the place of this one: afterwards it is this one again.
    for module, name in ((paths, "HISTORY_DB"), (paths, "DRIFT_RUN_DIR"), (liveness, "up_since")):
        monkeypatch.setattr(module, name, getattr(module, name))


class Site:
    """Two machines, one of each way out, three that say the same for ever, and who watches."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.served = FileMachine(root / "served")
        self.written = FileMachine(root / "written")
        self.textfile = root / "textfiles" / "stripewright.prom"
        self.textfile.parent.mkdir()
        for machine in (self.served, self.written):
            for n in range(15):
                machine.measures(800_000.0 + 1000 * (n % 3))
        self.write()
        self.receivers = Receivers()
        endpoint, node, self.port, alertmanager = (free_port() for _ in range(4))
        self.endpoint = f"127.0.0.1:{endpoint}"
        self.url = f"http://127.0.0.1:{self.port}/api/v1"
        self.alertmanager = f"http://127.0.0.1:{alertmanager}/api/v2/alerts"
        peers = [Peers(self.textfile.read_text()) for _ in range(3)]
        rules, routes, config = (root / f"{n}.yml" for n in ("rules", "routes", "prometheus"))
        rules.write_text(hurried(RULES.read_text()))
        example = ALERTMANAGER.read_text().replace(":9000/", f":{self.receivers.port}/")
        routes.write_text(hurried(example))
        config.write_text(
            _CONFIG.format(
                rules=rules, alertmanager=alertmanager, endpoint=endpoint, node=node,
                peers=", ".join(f'"127.0.0.1:{one.server_address[1]}"' for one in peers),
            )
        )  # fmt: skip

        def start(name: str, *argv: str | Path) -> None:
            stack.enter_context(running(argv, root / f"{name}.log"))

        command = (sys.executable, "-m", "tests.monitoring.machine", root / "served")
        start("endpoint", "systemd-socket-activate", "--accept", "--inetd", "-l", self.endpoint,
              f"--setenv=PYTHONPATH={TREE}", *command, "metrics-http")  # fmt: skip
        start("node", "prometheus-node-exporter", "--collector.disable-defaults",
              "--collector.textfile", f"--collector.textfile.directory={self.textfile.parent}",
              f"--web.listen-address=127.0.0.1:{node}")  # fmt: skip
        start("alertmanager", "prometheus-alertmanager", f"--config.file={routes}",
              f"--storage.path={root / 'alertmanager'}", "--cluster.listen-address=",
              f"--web.listen-address=127.0.0.1:{alertmanager}")  # fmt: skip
        start("prometheus", "prometheus", f"--config.file={config}",
              f"--storage.tsdb.path={root / 'prometheus'}",
              f"--web.listen-address=127.0.0.1:{self.port}")  # fmt: skip

    def write(self) -> None:
        """As stripewright-textfile.service does."""
        assert self.written.run_command("export", "metrics", "--output", str(self.textfile)) == 0

    def values(self, query: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = ask(f"{self.url}/query", query=query)["data"]["result"]
        return found

    def firing(self) -> set[str]:
        """The alerts that Alertmanager has, silenced or not."""
        return {one["labels"]["alertname"] for one in ask(self.alertmanager)}


@pytest.fixture
def site(tmp_path: Path, _quiet: None) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(tmp_path, stack)


def every_alert() -> set[str]:
    return set(re.findall(r"- alert: (\w+)", RULES.read_text()))


def panels() -> dict[str, list[str]]:
    """The queries of each panel of the dashboard, for all machines and suites."""
    document = json.loads((TREE / "docs/monitoring/grafana-dashboard.json").read_text())
    return {
        one["title"]: [re.sub(r"\$(instance|suite)", ".*", at["expr"]) for at in one["targets"]]
        for one in document["panels"]
    }


def test_every_alert_fires_and_clears_and_every_panel_has_data(site: Site) -> None:
    within(_SOON, lambda: 5 - len(site.values("stripewright_machine")))
    within(_SOON, lambda: not site.values("stripewright:headline_iops:ratio_to_fleet"))
    within(_SOON, lambda: site.values("up == 0 or node_textfile_scrape_error == 1"))
    # Before the first scrape there are no metrics at all, which is an alert.
    within(_SOON, site.firing)
    request = urllib.request.Request(
        f"http://{site.endpoint}/metrics", headers={"Accept": _OPEN_METRICS}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - http
        assert answer.headers["Content-Type"] == _OPEN_METRICS
        checked("promtool", "check", "metrics", text=answer.read().decode())

    # A volume lacks a member; drift was not looked for, and the last run is long ago.
    site.served.array(degraded=1, lost="nvme3n1")
    site.served.looks(seconds_ago=7200)
    site.served.grows_older(3 * 86_400)
    # Another machine refuses its disks, has a finding, one slow member and an invalid run; then
    # its file is no longer replaced.
    site.written.boots(refused=True)
    site.written.finds(_FACT)
    site.written.measures(500_000.0, slow_slot=2)
    site.written.measures(suite="full", findings=_BLOCKED)
    site.write()
    within(_SOON, lambda: every_alert() - {"StripewrightExporterAbsent"} - site.firing())
    os.utime(site.textfile, (time.time() - 1000,) * 2)
    within(_SOON, lambda: every_alert() - site.firing())
    for title, expressions in panels().items():
        for expression in expressions:
            assert site.values(expression), f"{title}: {expression}"
    within(_SOON, lambda: _TOLD["pager"] - site.receivers.got["pager", "firing"])
    within(_SOON, lambda: _TOLD["tickets"] - site.receivers.got["tickets", "firing"])
    within(_SOON, lambda: _TOLD["digest"] - site.receivers.got["digest", "firing"])
    for name, alerts in _TOLD.items():
        assert site.receivers.got[name, "firing"] == alerts, "and no more"

    site.served.array()
    site.served.looks()
    site.served.measures()
    site.written.boots()
    site.written.finds()
    site.written.measures()
    site.written.measures(suite="full")
    site.write()
    within(_SOON, site.firing)
    within(_SOON, lambda: _TOLD["pager"] - site.receivers.got["pager", "resolved"])
