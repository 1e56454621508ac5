"""Copies one figure per example from build/gallery to docs/figures/gallery, small enough for a page (needs Pillow)."""

from pathlib import Path

from PIL import Image

BUILD, DOCS = Path("build/gallery"), Path("docs/figures/gallery")
USUAL = ("snapshots", "shapes", "shape")
CHOICE = {
    "bellows_actuator": "loops",
    "constant_strain_cantilever": "tip",
    "duality": "robot",
    "identify_material": "motion",
    "impedance_eight": "eight",
    "large_deflections": "bend",
    "manipulator_workspace": "cut",
    "octopus_arm": "out_of_plane",
    "pneumatic_arm": "filling",
    "pressure_regulated_arm": "angles",
    "swimming_in_vacuum": "curvatures",
    "tendon_routings": "plane",
    "tracking_controllers": "errors",
}
WIDTH, LARGEST = 520, 60_000  # pixels, bytes


def shrink(source: Path, target: Path) -> None:
    """Scale to the width of a page and reduce the colours until the file is small."""
    with Image.open(source) as image:
        height = round(image.height * WIDTH / image.width)
        small = image.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
    for colours in (128, 64, 32):
        small.quantize(colours).save(target, optimize=True)
        if target.stat().st_size <= LARGEST:
            return


def main() -> None:
    """One picture for each folder."""
    DOCS.mkdir(parents=True, exist_ok=True)
    for folder in sorted(path for path in BUILD.iterdir() if path.is_dir()):
        wanted = [CHOICE[folder.name]] if folder.name in CHOICE else USUAL
        shrink(
            next(
                folder / f"{name}.png" for name in wanted if (folder / f"{name}.png").exists()
            ),
            DOCS / f"{folder.name}.png",
        )


if __name__ == "__main__":
    main()
