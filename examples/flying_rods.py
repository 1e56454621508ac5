"""The flying rods of [000] Table I: free at both ends, without gravity, kicked at one end and then left alone.

The soft rod is the free-free rod of Simo and Vu-Quoc (10 m, given by its stiffness and inertia), the stiff one a
rubber rod of 1 m. Both have three modes of torsion and of bending in each direction. After the kick, momentum and
energy are conserved: the table shows how well, against time spent, for the default method and for a high-order one.

The paper needs 7.9 s (soft) and 8.5 s (stiff) of computing per simulated second. Its loads are only in a figure; those
below are of the kind and size used in the literature.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels


def soft() -> pl.System:
    """From (6, 0, 0) to (0, 8, 0); its bending stiffness is 500 N m², its mass 1 kg/m."""
    robot = pl.Robot("soft flying rod", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        joint=pl.Free(),
        offset=pl.translate(6, 0, 0) @ pl.rotate("z", np.arctan2(8, -6)),
        length=10.0,
        stiffness=[500, 500, 500, 1e4, 1e4, 1e4],
        inertia=[10, 10, 10, 1, 1, 1],
        strains=pl.Strains.kirchhoff(2, basis="chebyshev"),
        points=20,
    )
    robot.add_wrench("kick", rod.base, force=(20, 0, 0), moment=(0, 100, 200))
    return robot.compile()


def stiff() -> pl.System:
    """1 m long, 0.1 m thick, E = 1 MPa."""
    robot = pl.Robot("stiff flying rod", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "rod",
        joint=pl.Free(),
        offset=pl.rotate("z", np.pi / 4),
        length=1.0,
        section=pl.Circle(radius=0.05),
        material=pl.Material(young=1e6, poisson=0.5, density=1000),
        strains=pl.Strains.kirchhoff(2, basis="chebyshev"),
        points=20,
    )
    robot.add_wrench("kick", rod.base, force=(0.2, 0, 0.1), moment=(-0.2, 0.2, 0.5))
    return robot.compile()


def kick(t: float) -> dict[str, float]:
    """Rises for 2.5 s, falls for 2.5 s."""
    return {"kick": max(0.0, 1.0 - abs(t - 2.5) / 2.5)}


def figures(runs: dict[str, pl.Result]) -> dict[str, object]:
    """Figure 6 of the paper: snapshots in two planes; and the energies, kept after the kick."""
    shapes, axes = panels(2, 2, size=(8.4, 6.4))
    energies, parts = panels(2, 1, size=(6, 4.6))
    for k, (name, run) in enumerate(runs.items()):
        for ax, view in zip(axes[2 * k : 2 * k + 2], ("xz", "yz")):
            run.plot_snapshots(14 if k == 0 else 6, view=view, bar=view == "yz", ax=ax)
            ax.set_title(name)
        run.plot_energies(ax=parts[k])
    return {"snapshots": shapes, "energies": energies}


METHODS = {
    "constant step 0.01 s": {"step": 0.01},
    "constant step 0.001 s": {"step": 0.001, "newton_tolerance": 1e-9},
    "error control": {"max_step": 0.1},
    "dop853, tolerance 1e-9": {"method": "dop853", "rtol": 1e-9, "atol": 1e-9, "max_step": 0.1},
}


def conserved(result: pl.Result) -> tuple[float, float, float]:
    """Largest relative changes of linear momentum, angular momentum and energy after the kick."""
    late = result.t >= 5.0
    L, p = result.momenta()
    changes = []
    for x in (p[late], L[late], result.energies().total[late, None]):
        changes.append(float(np.abs(x - x[-1]).max() / np.linalg.norm(x[-1])))
    return changes[0], changes[1], changes[2]


def main(figures_dir: str | None = None) -> None:
    drawn = {}
    for build in (soft, stiff):
        system = build()
        print(f"\n{system.name}, {system.nv} dof: changes after the kick, work per simulated second")
        print(f"{'':24}  momentum  ang. mom.    energy   steps    time [s]  bending [rad]")
        for name, options in METHODS.items():
            if build is stiff and "1e-9" in name:
                options = {**options, "rtol": 1e-6, "atol": 1e-6}
                name = "dop853, tolerance 1e-6"
            result = pl.simulate(system, 10.0, u=kick, output=0.1, **options)
            drawn[system.name] = result
            p, L, energy = conserved(result)
            s = result.statistics
            ends = result.poses("rod.base"), result.poses("rod.tip")
            turn = [np.arccos(np.clip(a[:3, 0] @ b[:3, 0], -1, 1)) for a, b in zip(*ends)]
            print(
                f"{name:24}{p:10.1e} {L:10.1e} {energy:9.1e} {s.steps / 10:7.0f} {s.wall_time / 10:11.5f} {max(turn):14.3f}"
            )
    gallery.save(figures_dir, figures, drawn)


def check() -> None:
    """The kick's impulse becomes momentum, and momentum stays."""
    system = soft()
    result = pl.simulate(system, 10.0, u=kick, method="dop853", rtol=1e-9, atol=1e-9, max_step=0.1, output=0.1)
    p = result.momenta().linear
    np.testing.assert_allclose(p[-1], [50.0, 0, 0], atol=1e-6)
    assert max(conserved(result)) < 1e-8


if __name__ == "__main__":
    main()
    check()
