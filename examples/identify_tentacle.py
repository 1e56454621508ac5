"""A real soft tentacle, identified from 22 poses that motion capture saw.

The tentacle hangs and is bent by two cables; four markers were measured in 22 static poses (data/tentacle.json, with its origin). The publication
of the data reaches a mean distance of the markers of 15.8 mm with three identified parameters and nine degrees of freedom, and 6.4 mm with a
learned residual. Here everything is physical: stiffness and density, where the camera stands, how the cables are led, where the markers sit,
all within stated bounds. Rows that are left out in turns, and the two test poses of the publication, tell whether that is too much.
"""

import json
from pathlib import Path

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

QUICK = False
ANGLES, DRUM = np.deg2rad([30, 150]), 0.0325  # of the cables around the axis; radius of the motors' drums [m]
TEST = [1, 16]  # poses that the publication does not fit
MARKERS = [("a", 0.1291 / 0.305, (0, 0, 0.025)), ("a", 0.2195 / 0.305, (0, 0, -0.021)), ("a", 0.28 / 0.305, (0, 0, 0.02)), ("b", 1.0, (0.008, 0, 0))]  # fmt: skip
PUBLISHED = {"identified": 15.8, "learned residual": 6.4}  # mm


def build() -> pl.System:
    """Two tapered rods, two cables that end where the first does, and markers as bodies without weight, so that where they sit can be found."""
    robot = pl.Robot("tentacle")
    silicone, turn = pl.Material(young=3e5, poisson=0.45, density=1100), pl.rotate("y", np.pi / 2)
    strains = [pl.Strains(torsion=2, bending_y=k, bending_z=k) for k in (4, 2)]
    a = robot.add_rod("a", length=0.305, section=pl.Circle((0.01541, 0.00642)), material=silicone, strains=strains[0], offset=turn)  # fmt: skip
    b = robot.add_rod("b", length=0.055, section=pl.Circle((0.00642, 0.0048)), material=silicone, strains=strains[1], parent=a)  # fmt: skip
    distance = np.array([0.0114, 0.0024025])  # of the cables from the axis, at base and tip [m]
    for k, phi in enumerate(ANGLES):
        robot.add_tendon(f"t{k}", a, y=tuple(distance * np.cos(phi)), z=tuple(distance * np.sin(phi)))
    for k, (rod, X, place) in enumerate(MARKERS):
        robot.add_body(f"m{k}", parent={"a": a, "b": b}[rod].at(X), offset=place, mass=1e-6)
    return robot.compile()


def measured(rows: np.ndarray | None = None) -> pl.StaticData:
    """The poses, or some of them; sigma is about what will be left."""
    found = json.loads((Path(__file__).parent / "data" / "tentacle.json").read_text())
    values = np.array(found["marker_positions"])
    if rows is not None:
        values[~np.isin(np.arange(len(values)), rows)] = np.nan
    quantity = [pl.costs.Position(f"m{k}") for k in range(len(MARKERS))]
    return pl.StaticData(inputs=np.array(found["motor_torque"]) / DRUM, values=values, quantity=quantity, sigma=4e-3, name="poses")  # fmt: skip


def routing() -> list[pl.Unknown]:
    """How far cables are from their places at base and tip, away from the axis and around it: up to 2 mm."""
    found = []
    for k, phi in enumerate(ANGLES):
        for way, y, z in (("radial", np.cos(phi), np.sin(phi)), ("around", -np.sin(phi), np.cos(phi))):
            for end in ("base", "tip"):
                targets = {f"t{k}.y.{end}": y, f"t{k}.z.{end}": z}
                found.append(pl.Unknown(f"t{k} {way} {end}", targets, shift=True, bounds=(-0.002, 0.002)))
    return found


MATERIAL = [
    pl.Unknown("young", ["a.young", "b.young"], bounds=(1e5, 1e6)),
    pl.Unknown("density", ["a.density", "b.density"], bounds=(800, 1600)),
]
CAMERA = [pl.Unknown(f"pose:{k}", bounds=(-0.01, 0.01)) for k in "xyz"]
CAMERA += [pl.Unknown(f"pose:{k}", bounds=(-0.1, 0.1)) for k in ("rx", "ry", "rz")]
PLACES = [pl.Unknown(f"m{k}.offset.{c}", {f"m{k}.offset.{c}": 1.0}, shift=True, bounds=(-0.01, 0.01)) for k in range(4) for c in "xyz"]  # fmt: skip
TORSION = [pl.Unknown("torsion factor", ["a.torsion_factor", "b.torsion_factor"], bounds=(0.3, 3.0))]
MODELS = {
    "material": MATERIAL,
    "and camera": MATERIAL + CAMERA,
    "and routing": MATERIAL + CAMERA + routing(),
    "and markers": MATERIAL + CAMERA + routing() + PLACES,
    "and torsion": MATERIAL + CAMERA + routing() + PLACES + TORSION,
}


def errors(found: pl.Identification) -> tuple[float, float]:
    """Mean distance of the markers, and that of poses left out in turns (to first order) [mm]."""
    left_out = found.cross_validate(linear=True)
    return 1e3 * np.mean(found.distances()), 1e3 * np.mean(left_out.distances())


def held_out(system: pl.System, unknowns: list[pl.Unknown]) -> float:
    """Mean distance of the markers in the test poses of the publication, fitted without them [mm]."""
    everything = measured().values
    rows = np.setdiff1d(np.arange(len(everything)), TEST)
    found = pl.identify(system, measured(rows), unknowns)
    off = (found.predicted() - everything)[TEST].reshape(len(TEST), -1, 3)
    return 1e3 * float(np.mean(np.linalg.norm(off, axis=2)))


def figures(run: dict[str, pl.Identification]) -> dict[str, object]:
    bars, (ax,) = panels(1, 1, size=(6, 3.4))
    fitted, left = np.array([errors(found) for found in run.values()]).T
    at = np.arange(len(run))
    ax.bar(at - 0.2, fitted, 0.38, label="fitted")
    ax.bar(at + 0.2, left, 0.38, label="left out in turns")
    for (name, value), line in zip(PUBLISHED.items(), ("k--", "k:")):
        ax.axhline(value, color="k", ls=line[1:], lw=1, label=f"published, {name}")
    ax.set_xticks(at, [f"{name}\n{len(found.names)} unknowns" for name, found in run.items()])
    ax.set(ylabel="mean distance of the markers [mm]", ylim=(0, 21))
    legend(ax, loc="upper right")
    shape, axes = panels(1, 2, size=(8, 4.2))
    best = run["and markers"]
    seen, found = (x.reshape(-1, 4, 3) * 1e3 for x in (best.data[0].values, best.predicted()))
    for ax, (i, j), labels in zip(axes, ((1, 2), (0, 2)), (("y", "z"), ("x", "z"))):
        for k in range(4):
            ax.plot(found[:, k, i], found[:, k, j], "x", color=f"C{k}", ms=5, label=f"marker {k + 1}, predicted")
            ax.plot(seen[:, k, i], seen[:, k, j], "o", color=f"C{k}", ms=3, mfc="none")
        ax.set(xlabel=f"{labels[0]} [mm]", ylabel=f"{labels[1]} [mm]", aspect="equal")
    return {"shapes": shape, "models": bars}


def main(figures_dir: str | None = None) -> None:
    system, run = build(), {}
    for name, unknowns in MODELS.items():
        run[name] = found = pl.identify(system, measured(), unknowns)
        fitted, left = errors(found)
        print(f"{name:12} {len(unknowns):2d} unknowns: {fitted:5.2f} mm, left out in turns {left:5.2f} mm, AIC {found.aic:6.1f}, BIC {found.bic:6.1f}")  # fmt: skip
    print(f"test poses of the publication, fitted without them: {held_out(system, MODELS['and markers']):.2f} mm")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    system = build()
    plain, best = (pl.identify(system, measured(), MODELS[name]) for name in ("material", "and markers"))
    assert errors(plain)[0] < PUBLISHED["identified"]
    fitted, left = errors(best)
    assert fitted < 5.6
    assert left < PUBLISHED["learned residual"]
    assert best.bic < plain.bic - 200
    assert held_out(system, MODELS["and markers"]) < PUBLISHED["learned residual"]


if __name__ == "__main__":
    main()
    check()
