"""Pictures that cells draw, in a format that takes a quarter less: WebP without loss.

After the build a page shows the same points from a smaller file. The PNG stays beside
it, for links and for whoever wants the file.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from built_pages import read_pages, rewrite
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

SHOWN = re.compile(r'(<img [^>]*?\bsrc="[^"]*?_images/([^"/]+))\.png(?=")')


def shrink(source: Path) -> bool:
    """Write a picture anew beside the old file; say whether that is smaller."""
    target = source.with_suffix(".webp")
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        with Image.open(source) as picture:
            picture.save(target, lossless=True, exact=True, method=4)
    return target.stat().st_size < source.stat().st_size


def show(page: str, smaller: set[str]) -> str:
    """Have a page show these pictures, by their names, from the smaller files."""
    return SHOWN.sub(
        lambda m: f"{m[1]}.webp" if m[2] in smaller else m[0],
        page,
    )


def shrink_pictures(app: Sphinx, exception: Exception | None) -> None:
    """After the build: do it for all pictures and pages."""
    out = Path(app.outdir)
    sources = sorted((out / "_images").glob("*.png"))
    if exception or app.builder.format != "html" or not sources:
        return
    with ThreadPoolExecutor() as pool:
        small = list(pool.map(shrink, sources))
    names = {source.stem for source, fits in zip(sources, small, strict=True) if fits}
    rewrite(read_pages(out), lambda _, page: show(page, names))
    LOGGER.info("[pictures] %d of %d are smaller", len(names), len(sources))


def setup(app: Sphinx) -> dict[str, Any]:
    """Do it before valid_html.py measures them."""
    app.connect("build-finished", shrink_pictures, priority=700)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
