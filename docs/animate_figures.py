"""Films the 3D pages of build/gallery for the gallery, where they play below the pointer (needs Pillow, Playwright and Chromium)."""

import io
import os
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

BUILD, DOCS = Path("build/gallery"), Path("docs/_static/motions")
SIZE, FRAMES, LARGEST = (420, 300), 24, 90_000  # pixels, pictures, bytes
QUIET = "header, #bar, #right, #name { display: none !important; }"
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]


def film(page, source: Path, target: Path) -> None:
    """Pictures of one page at equal times, as an animation that is small enough."""
    page.goto(source.resolve().as_uri())
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    page.add_style_tag(content=QUIET)
    page.evaluate(
        "() => { pliant.play(false); pliant.show.forces = false; if (pliant.gravity) pliant.gravity.group.visible = false; }"
    )
    duration = page.evaluate("pliant.motion.duration")
    if not duration > 0:
        return
    pictures = []
    for k in range(FRAMES):
        page.evaluate(
            "t => { pliant.time = t; pliant.draw(); pliant.renderer.render(pliant.scene, pliant.camera); }",
            duration * k / FRAMES,
        )
        pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    for quality in (60, 40, 25, 10):
        pictures[0].save(
            target,
            save_all=True,
            append_images=pictures[1:],
            duration=100,
            loop=0,
            quality=quality,
            method=4,
        )
        if target.stat().st_size <= LARGEST:
            return


def main() -> None:
    """All examples with a motion, or those that are named."""
    DOCS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("PLIANT_CHROMIUM", "/usr/bin/chromium"), args=FLAGS
        )
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        for path in sorted(BUILD.glob("*/motion.html")):
            if len(sys.argv) < 2 or path.parent.name in sys.argv[1:]:
                film(page, path, DOCS / f"{path.parent.name}.webp")
                print(path.parent.name, flush=True)
        browser.close()


if __name__ == "__main__":
    main()
