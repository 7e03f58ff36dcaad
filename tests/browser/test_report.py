"""The report in a real browser: nothing cut, nothing overlapping, nothing loaded.

Needs Chromium (Debian: apt install chromium); skipped without, because it takes more room
than everything else that the tests need. The browser talks to a server of this test only.
"""

import dataclasses
import html as entities
import http.server
import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.report import gather, html
from appliance.report.gather import run_report
from tests.unit import reports
from tests.unit.test_report_page import LONG, hostile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PHONE, DESKTOP = 360, 1280
FRAME = '<iframe id="{}" style="border:0;width:{}px;height:900px" srcdoc="{}"></iframe>'
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-domain-reliability",
)
# A frame with the page as its document has the harness's origin: the harness may measure it.
# What it finds is left in an attribute, which --dump-dom prints.
HARNESS = """<!DOCTYPE html><html><head><meta charset="utf-8"></head><body style="margin:0">
FRAMES
<script>
function measure(page) {
  const found = {cut: [], overlapping: [], letters: 99};
  const name = (one) => one.textContent.slice(0, 40);
  found.width = page.documentElement.scrollWidth;
  found.drawings = 0;
  for (const drawing of page.querySelectorAll("svg")) {
    const frame = drawing.getBoundingClientRect();
    if (!frame.width) continue;
    found.drawings += 1;
    const boxes = [];
    for (const text of drawing.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      found.letters = Math.min(found.letters, box.height);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
          box.top < frame.top - 2 || box.bottom > frame.bottom + 2) found.cut.push(name(text));
      for (const [other, words] of boxes) {
        const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (across > 1 && down > box.height * 0.35) {
          found.overlapping.push(words + " / " + name(text));
        }
      }
      boxes.push([box, name(text)]);
    }
  }
  for (const cell of page.querySelectorAll("td, th, dd, dt, li, p, h1, h2, h3")) {
    if (cell.closest("details") || cell.closest(".vh") || !cell.offsetWidth) continue;
    if (getComputedStyle(cell.closest("thead") || cell).position === "absolute") continue;
    if (cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth) found.cut.push(name(cell));
  }
  return found;
}
window.onload = function () {
  const all = {};
  for (const frame of document.querySelectorAll("iframe")) {
    all[frame.id] = measure(frame.contentDocument);
  }
  document.documentElement.dataset.found = JSON.stringify(all);
};
</script></body></html>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator["Browser"]:
    # Not pytest's directory: the path of the profile's lock would be too long for a socket.
    with tempfile.TemporaryDirectory() as profile:
        yield Browser(Path(profile), tmp_path_factory.mktemp("harness"))


@dataclasses.dataclass
class Browser:
    profile: Path
    place: Path

    def run(self, *arguments: str) -> str:
        assert CHROMIUM is not None
        done = subprocess.run(
            (CHROMIUM, *FLAGS, f"--user-data-dir={self.profile}", *arguments),
            capture_output=True,
            text=True,
            timeout=180,
            check=True,
        )
        return done.stdout

    def measured(self, pages: dict[str, str]) -> dict[str, dict[str, Any]]:
        """What the harness finds out about ``pages``, at both widths: ``"NAME, WIDTH"``."""
        harness = self.place / "harness.html"
        frames = (
            FRAME.format(f"{name}, {width}", width, entities.escape(page))
            for name, page in pages.items()
            for width in (PHONE, DESKTOP)
        )
        harness.write_text(HARNESS.replace("FRAMES", "\n".join(frames)), encoding="utf-8")
        dom = self.run("--window-size=1400,1000", "--dump-dom", harness.as_uri())
        found = re.search(r'<html data-found="([^"]*)"', dom)
        assert found is not None, dom[:500]
        return dict(json.loads(entities.unescape(found[1])))


def page_of(**changes: object) -> str:
    return html.page(run_report(reports.material(**changes), written_at=reports.BEGAN, version="1"))


def many_members() -> str:
    names = tuple(f"nvme{n}n1" for n in range(1, 25))
    run = reports.run(members=names)
    found = tuple(dataclasses.replace(r, runtime_ms=400_000) for r in reports.results(members=24))
    samples, ended = reports.rates(run, found, job_seconds=400)
    return page_of(run=run, results=found, rates=samples, ended_at=ended)


def many_jobs() -> str:
    found = tuple(
        dataclasses.replace(one, job=f"{one.job}-{n}", runtime_ms=10_000)
        for n in range(13)
        for one in reports.results(seed=n)
    )[:64]
    samples, ended = reports.rates(reports.run(), found, job_seconds=10)
    return page_of(results=found, rates=samples, ended_at=ended)


def imported() -> str:
    return html.page(
        gather.import_report(
            reports.judged(),
            file="diary.txt",
            machine_type="i3.8xlarge",
            imported_at=0,
            written_at=0,
            version="1",
        )
    )


PAGES = {
    "whole": page_of,
    "one job": lambda: page_of(results=reports.results()[:1], ended_at=(reports.BEGAN,)),
    "24 members": many_members,
    "64 jobs": many_jobs,
    "all blocked": lambda: page_of(
        results=tuple(
            dataclasses.replace(one, findings=(reports.SHORT,)) for one in reports.results()
        )
    ),
    "nothing measured": lambda: page_of(results=(), rates=(), ended_at=(), others=()),
    "import": imported,
    "hostile": lambda: html.page(hostile(reports.HOSTILE)),
    "hostile and long": lambda: html.page(hostile(LONG)),
}


@pytest.fixture(scope="module")
def measured(browser) -> dict[str, dict[str, Any]]:
    return browser.measured({name: make() for name, make in PAGES.items()})


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_and_nothing_overlaps(measured, name, width):
    found = measured[f"{name}, {width}"]
    assert found["width"] <= width
    assert found["cut"] == []
    assert found["overlapping"] == []
    # A line of 12 px letters is about 14 px high; what is below 10 cannot be read.
    assert found["letters"] >= 10
    if name == "whole":
        # Timeline, latencies, five jobs with two each, five trends.
        assert found["drawings"] == 1 + 1 + 10 + 5


def test_the_harness_sees_what_is_cut(browser):
    """The measuring itself: a page with each fault is found out."""
    faults = (
        '<div style="width:500px">x</div>',
        '<svg width="100" height="40"><text x="90" y="20">too long</text></svg>',
        '<svg width="99" height="40"><text x="5" y="20">ab</text>'
        '<text x="5" y="22">cd</text></svg>',
    )
    page = f"<!DOCTYPE html><html><body>{''.join(faults)}</body></html>"
    found = browser.measured({"faults": page})[f"faults, {PHONE}"]
    assert found["width"] > PHONE
    assert found["cut"] == ["too long"]
    assert found["overlapping"] == ["ab / cd"]


def test_it_is_printed_on_a_few_pages(browser, tmp_path):
    page = tmp_path / "x.html"
    page.write_text(page_of(), encoding="utf-8")
    browser.run("--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'x.pdf'}", page.as_uri())
    printed = (tmp_path / "x.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8


# ------------------------------------------------------------------------------- requests


class Server:
    """Everything that is asked of it, whatever the host: the browser's every name leads here."""

    def __init__(self, page: str) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(f"{self.headers['Host'].split(':')[0]}{self.path}")
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def opened(browser: Browser, page: str) -> tuple[list[str], str]:
    """What was asked for when ``page`` was opened, and what became of it."""
    with Server(page) as server:
        dom = browser.run(
            f"--host-resolver-rules=MAP * 127.0.0.1:{server.port}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            "http://report.test/page",
        )
    return [one for one in server.asked if one.startswith(("report.test", "elsewhere.test"))], dom


LEAKS = (
    '<script>document.title = "it ran"</script><img src="/image.png">'
    '<img src="http://elsewhere.test/image.png"><link rel="stylesheet" href="/style.css">'
    '<iframe src="http://elsewhere.test/frame"></iframe>'
)


def test_the_page_asks_for_nothing(browser):
    asked, dom = opened(browser, page_of())
    assert asked == ["report.test/page"]
    assert "1 of 5 results cannot be believed" in dom


def test_even_a_page_that_was_tampered_with_asks_for_nothing(browser):
    asked, dom = opened(browser, page_of().replace("</main>", f"{LEAKS}</main>"))
    assert asked == ["report.test/page"]
    assert "<title>it ran" not in dom


def test_the_server_sees_what_is_asked_for(browser):
    asked, dom = opened(browser, f"<!DOCTYPE html><title>x</title><body>{LEAKS}")
    assert {"report.test/image.png", "elsewhere.test/image.png", "report.test/style.css"} <= set(
        asked
    )
    assert "<title>it ran" in dom
