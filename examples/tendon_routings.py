"""Five ways to lead a cable along a beam: the statics of [004] VIII.B.

An inextensible, shear-free beam of 1 m (radius 10 mm, E = 1 MPa) is clamped at one end; a cable anchored at the other
pulls with 1 to 5 N. Nothing else acts on it, so that the strain is known point by point, K = −T H⁻¹ d×t̂; the tips of
`TIPS` were computed from that with an independent program (a high-order integration of the continuous beam, 7 digits).
The paper prints no coordinates, only figures. Where its text is incomplete we take: radius 0.01 m (printed as the
diameter), spiral of radius R/2, and Poisson's ratio 0.5, which matters for the spiral alone.

A cable that ends inside the beam makes the curvature jump, which a polynomial follows slowly (the paper needs ten modes);
with pieces that meet at the jump the answer is exact.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import panels

RADIUS = 0.01  # m
TENSIONS = (1.0, 2.0, 3.0, 4.0, 5.0)  # N
ROUTINGS = {
    "parallel": {"y": np.sqrt(2) * RADIUS / 4, "z": np.sqrt(2) * RADIUS / 4},
    "convergent": {"y": (RADIUS / 2, 0.0)},
    "cross": {"y": (RADIUS / 2, -RADIUS / 2)},
    "spiral": pl.helical_routing(RADIUS / 2, turns=-1, phase=np.pi / 2),  # y = R/2 sin 2πX, z = R/2 cos 2πX
    "truncated": {"y": RADIUS / 2, "end": 0.5},
}
TIPS = {  # m, for each tension
    "parallel": [
        (0.9338082, 0.2175793, 0.2175793),
        (0.7508844, 0.3925369, 0.3925369),
        (0.4937886, 0.4933835, 0.4933835),
        (0.2201482, 0.5076229, 0.5076229),
        (-0.0130358, 0.4440970, 0.4440970),
    ],
    "convergent": [
        (0.9731550, 0.2097568, 0.0),
        (0.8946764, 0.4050697, 0.0),
        (0.7705597, 0.5726673, 0.0),
        (0.6102346, 0.7015215, 0.0),
        (0.4257734, 0.7837245, 0.0),
    ],
    "cross": [
        (0.9932568, 0.1057912, 0.0),
        (0.9731570, 0.2097490, 0.0),
        (0.9400876, 0.3100778, 0.0),
        (0.8946842, 0.4050557, 0.0),
        (0.8378178, 0.4930701, 0.0),
    ],
    "spiral": [
        (0.9897556, 0.1006757, 0.0000000),
        (0.9602984, 0.1941505, 0.0000751),
        (0.9158818, 0.2729279, 0.0008876),
        (0.8625498, 0.3328737, 0.0042031),
        (0.8060335, 0.3739921, 0.0126810),
    ],
    "truncated": [
        (0.9664821, 0.2353887, 0.0),
        (0.8689590, 0.4510922, 0.0),
        (0.7162327, 0.6292700, 0.0),
        (0.5220348, 0.7555933, 0.0),
        (0.3037158, 0.8205709, 0.0),
    ],
}


def build(routing: str, basis: pl.Legendre | pl.PiecewiseConstant, points: int | None = None) -> pl.System:
    robot = pl.Robot(routing, gravity=(0, 0, 0))
    beam = robot.add_rod(
        "beam",
        length=1.0,
        section=pl.Circle(radius=RADIUS),
        material=pl.Material(young=1e6, poisson=0.5, density=1000),
        strains=pl.Strains(torsion=basis, bending=basis),
        points=points,
    )
    robot.add_tendon("cable", beam, **ROUTINGS[routing])
    return robot.compile()


def shapes(system: pl.System) -> list[np.ndarray]:
    """Equilibrium for each tension; each solution starts from the one before."""
    out = []
    for tension in TENSIONS:
        rest = pl.solve_statics(system, {"cable": tension}, start=out[-1] if out else None)
        if not (rest.success and rest.stable):
            raise RuntimeError(f"{system.name}, {tension} N: {rest}")
        out.append(rest.q)
    return out


def tips(system: pl.System) -> np.ndarray:
    """Tip for each tension, (5, 3)."""
    return np.array([system.pose("beam.tip", q)[:3, 3] for q in shapes(system)])


def error(system: pl.System) -> float:
    """Largest distance from the reference tips [m]."""
    return float(np.linalg.norm(tips(system) - TIPS[system.name], axis=1).max())


def figures(_run: object) -> dict[str, object]:
    """Figure 7 of the paper, without the parallel cable, whose shapes are those of `tip_moment`."""
    plane, axes = panels(1, 3, size=(10, 3.4))
    for ax, name in zip(axes, ("convergent", "cross", "truncated")):
        system, bar = build(name, pl.Legendre(9)), {"values": TENSIONS, "label": "tension [N]", "bar": ax is axes[-1]}
        plot_configurations(system, shapes(system), view="xy", tendons=True, ax=ax, **bar)
        ax.set_title(name)
    system = build("spiral", pl.Legendre(4))
    return {"plane": plane, "spiral": plot_configurations(system, shapes(system), tendons=True, **bar)}


def main(figures_dir: str | None = None) -> None:
    print("tip x, y, z [m] for a tension of 5 N with five modes per strain, as the paper")
    for name in ROUTINGS:
        x, y, z = tips(build(name, pl.Legendre(4)))[-1]
        print(f"  {name:12} {x:10.6f}{y:10.6f}{z:10.6f}")
    orders = (4, 9, 14)
    print("\nlargest error of the tip, 1 to 5 N [m]" + "".join(f"{n + 1:5} modes" for n in orders) + "     2 pieces")
    for name in ROUTINGS:
        errors = [error(build(name, pl.Legendre(n), points=120)) for n in orders]
        if name == "truncated":
            errors.append(error(build(name, pl.PiecewiseConstant(2))))
        print(f"  {name:36}" + "".join(f"{e:11.1e}" for e in errors))
    gallery.save(figures_dir, figures, None)


def check() -> None:
    """Smooth routings agree with the reference to its last digit, 1e-7 m (120 points); so does the truncated one with two pieces."""
    for name in ROUTINGS:
        basis = pl.PiecewiseConstant(2) if name == "truncated" else pl.Legendre(14)
        assert error(build(name, basis, points=120)) < 1e-7, name
    # five modes: converged for the straight cables, not for the others (the paper shows the truncated one)
    limits = {"parallel": 1e-7, "convergent": 1e-7, "cross": 1e-7, "spiral": 5e-3, "truncated": 2e-3}
    assert all(error(build(name, pl.Legendre(4), points=120)) < limit for name, limit in limits.items())
    assert error(build("truncated", pl.Legendre(4), points=120)) > 1e-3
    assert error(build("truncated", pl.Legendre(9), points=120)) < 1e-4
    # a cable that crosses the axis in the middle turns the tip back into its first direction
    system = build("cross", pl.Legendre(4))
    np.testing.assert_allclose(system.pose("beam.tip", shapes(system)[-1])[:3, 0], [1, 0, 0], atol=1e-12)
    # tension times offset over stiffness: the parallel cable makes a circle
    system = build("parallel", pl.Legendre(4))
    curvature = np.linalg.norm(system.strain("beam", shapes(system)[-1])[:, 1:3], axis=1)
    np.testing.assert_allclose(curvature, 5.0 * RADIUS / 2 / (1e6 * np.pi * RADIUS**4 / 4), rtol=1e-10)


if __name__ == "__main__":
    main()
    check()
