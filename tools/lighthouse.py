"""Is the built site quick on a phone? Lighthouse, three times a page, and its median.

    python tools/lighthouse.py                                    # five pages
    python tools/lighthouse.py book/architectures/gpt.html        # this one

It serves `_build/html` compressed, as its host does, and needs Node and Chromium. The
exit status is 1 if a page has less than 95 for performance on a simulated phone, or
less than 100 for what people with a screen reader need, good practice, or what search
engines read. Performance falls on a machine with other work: run it alone.
"""

import gzip
import json
import mimetypes
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = (
    "index.html",
    "book/similarity/kernel-regression.html",
    "book/similarity/positions.html",
    "book/architectures/gpt.html",
    "api/attention.html",
)
AIMS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
RUNS = 3
LIGHTHOUSE = ("npx", "--yes", "lighthouse@12.8.2")
COMPRESSED = {".png", ".jpg", ".webp", ".woff", ".woff2"}


class Host(BaseHTTPRequestHandler):
    """Serves the site as a host does that compresses, and lets it be kept."""

    protocol_version = "HTTP/1.1"
    site = SITE

    def do_GET(self) -> None:
        """Send a file of the site, or say that there is none."""
        name = self.path.partition("?")[0].lstrip("/") or "index.html"
        path = (self.site / name).resolve()
        if not (path.is_file() and path.is_relative_to(self.site.resolve())):
            self.send_error(404)
            return
        body, is_zipped = read(path)
        self.send_response(200)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.send_header("Content-Type", kind)
        if is_zipped:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each file."""


@cache
def read(path: Path) -> tuple[bytes, bool]:
    """Read a file, compressed unless its format is; say which."""
    if path.suffix in COMPRESSED:
        return path.read_bytes(), False
    return gzip.compress(path.read_bytes()), True


def ask(address: str) -> dict[str, int]:
    """Have Lighthouse look at a page once; return its marks, from 0 to 100."""
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        flags = "--headless=new --no-sandbox --disable-dev-shm-usage"
        command = [*LIGHTHOUSE, address, "--quiet", f"--chrome-flags={flags}"]
        command += ["--output=json", f"--output-path={report}"]
        subprocess.run(command, check=True)
        found = json.loads(report.read_text("utf-8"))["categories"]
    return {name: round(100 * (found[name]["score"] or 0)) for name in AIMS}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    pages = (sys.argv[1:] if arguments is None else arguments) or PAGES
    if missing := [page for page in pages if not (SITE / page).is_file()]:
        print(f"{SITE} has no {', '.join(missing)}: run `make book`, or name a page.")
        return 1
    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        is_fine = True
        print(f"{'page':<42}", *(f"{name:>15}" for name in AIMS))
        for page in pages:
            address = f"http://127.0.0.1:{server.server_port}/{page}"
            runs = [ask(address) for _ in range(RUNS)]
            marks = {name: median(run[name] for run in runs) for name in AIMS}
            is_fine &= all(marks[name] >= aim for name, aim in AIMS.items())
            print(f"{page:<42}", *(f"{m:>15}" for m in marks.values()), flush=True)
        server.shutdown()
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
