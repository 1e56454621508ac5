"""A soft finger that is shaped by gradients until it wraps a cylinder: taper, routing of its cable, tension.

A silicone finger of 160 mm, clamped at its base, is bent by one cable towards a cylinder of 30 mm radius. It touches with forces of Hertz's kind,
so that an even depth is an even pressure. Twelve numbers are free: radii of base and tip, the distance of the cable from the axis at nine points,
and the tension. Wanted is a depth of 0.3 mm from the first touch at X = 0.36 to the tip; SciPy's L-BFGS-B minimises the sum of squares
with the gradient of `static_gradient`, which sees through contact. A uniform finger touches in one place and stands off at its tip.
"""

import numpy as np
from scipy.optimize import minimize

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_shape
from pliant.viz.style import legend, panels

LENGTH, CYLINDER, PLACE = 0.16, 0.03, (0.05, 0.0, 0.042)  # of the finger; radius and axis of the cylinder [m]
DEPTH, FIRST = 0.3, 12  # wanted depth of touch [mm], from this contact point on
ROUTE = np.linspace(0, 1, 9)
NAMES = ["finger.radius.base", "finger.radius.tip", *(f"cable.z.{k}" for k in range(len(ROUTE)))]
START = np.array([8.0, 8.0, *np.full(len(ROUTE), 2.5), 9.0])  # mm, mm, N
BOUNDS = [(7, 9), (6, 9)] + [(1, 4)] * len(ROUTE) + [(1, 10)]
GAP = 1e3 * pl.costs.Clearance("grip")  # of all points of the finger [mm]
SECOND, EVEN = np.diff(np.eye(len(ROUTE)), 2, axis=0), 0.02  # of a routing without zigzag
COST = GAP[FIRST:].near(-DEPTH, at="end") + pl.Effort(1e-4)


def build() -> pl.System:
    """The finger before it is shaped; it bends in the plane."""
    robot = pl.Robot("finger")
    finger = robot.add_rod(
        "finger",
        length=LENGTH,
        section=pl.Circle(radius=(0.008, 0.008)),
        material=pl.Material(young=3e5, poisson=0.45, density=1100),
        strains=pl.Strains(bending_y=8),
        points=32,
    )
    robot.add_tendon("cable", finger, z=pl.Table(ROUTE, np.full(len(ROUTE), 0.0025), kind="linear"))
    robot.add_obstacle("cylinder", pl.Cylinder(CYLINDER, 0.1, "y"), pose=PLACE)
    robot.add_contact("grip", finger, "cylinder", stiffness=1e6, per_length=True)
    return robot.compile()


def pose(system: pl.System, x: np.ndarray) -> tuple[pl.System, pl.Equilibrium]:
    """The finger with radii and distances x[:-1] [mm], in equilibrium under the tension x[-1] [N]."""
    shaped = system.with_parameters(dict(zip(NAMES, 1e-3 * x[:-1])))
    rest = pl.solve_statics(shaped, {"cable": x[-1]})
    if not rest.success:
        raise RuntimeError(rest.message)
    return shaped, rest


def cost(x: np.ndarray, system: pl.System) -> tuple[float, np.ndarray]:
    """The objective and its gradient."""
    shaped, rest = pose(system, x)
    g = pl.static_gradient(shaped, rest, COST)
    slope = np.array([*(1e-3 * g[name] for name in NAMES), g["cable"]])
    bends = SECOND @ x[2:-1]
    slope[2:-1] += EVEN * SECOND.T @ bends
    return g.value + 0.5 * EVEN * bends @ bends, slope


def optimise(system: pl.System, iterations: int = 40) -> tuple[np.ndarray, list[float]]:
    """The best finger, and the objective after each iteration."""
    history = [cost(START, system)[0]]
    found = minimize(
        cost, START, (system,), "L-BFGS-B", jac=True, bounds=BOUNDS, options={"maxiter": iterations},
        callback=lambda intermediate_result: history.append(intermediate_result.fun),
    )  # fmt: skip
    return found.x, history


def gaps(system: pl.System, x: np.ndarray) -> np.ndarray:
    """Distances of the finger's points from the cylinder [mm], negative where they press."""
    shaped, rest = pose(system, x)
    return GAP.evaluate(pl.costs.States.at_rest(shaped, rest.q, rest.u)).value[0]


def figures(run: tuple[np.ndarray, list[float]]) -> dict[str, object]:
    best, history = run
    system = build()
    shapes, axes = panels(1, 2, size=(8, 4))
    for ax, x, name in zip(axes, (START, best), ("before", "after")):
        plot_shape(*_shape(system, x), view="xz", ax=ax)
        ax.set_title(name)
    design, axes = panels(1, 2, size=(8, 3.2))
    X = np.linspace(0, 1, 200)
    for x, name, line in ((START, "before", ":"), (best, "after", "-")):
        axes[0].plot(X, x[0] + (x[1] - x[0]) * X, f"C0{line}", label=f"radius {name}")
        axes[0].plot(X, np.interp(X, ROUTE, x[2:-1]), f"C1{line}", label=f"cable {name}")
        found = gaps(system, x)
        axes[1].plot(np.arange(len(found)), found, f"C2.{line}", label=name)
    axes[0].set(xlabel="X", ylabel="from the axis [mm]", ylim=(0, 12))
    axes[1].set(xlabel="point of the finger", ylabel="gap [mm]", ylim=(-3, 12))
    descent, (ax,) = panels(1, 1, size=(6, 3.2))
    ax.semilogy(history)
    ax.set(xlabel="iteration", ylabel="objective [mm²]")
    for each in axes:
        legend(each)
    return {"shapes": shapes, "design": design, "descent": descent}


def _shape(system: pl.System, x: np.ndarray) -> tuple[pl.System, np.ndarray]:
    shaped, rest = pose(system, x)
    return shaped, rest.q


def main(figures_dir: str | None = None) -> None:
    system = build()
    best, history = optimise(system)
    for name, x in (("before", START), ("after", best)):
        found = gaps(system, x)[FIRST:]
        print(
            f"{name}: radii {x[0]:.2f}, {x[1]:.2f} mm, cable {x[2:-1].round(1)} mm from the axis, {x[-1]:.1f} N; "
            f"gaps from {found.min():.2f} to {found.max():.2f} mm, wanted {-DEPTH}"
        )
    print(
        f"objective {history[0]:.0f} to {history[-1]:.3f} mm² in {len(history) - 1} iterations, {len(START)} parameters"
    )
    gallery.save(figures_dir, figures, (best, history))


def check() -> None:
    system = build()
    # along a direction the gradient is the difference of equilibria that were found again, with a point that is 9 µm from touching
    slope, h, e = cost(START, system)[1], 1e-5, np.cos(np.arange(len(START)))
    difference = (cost(START + h * e, system)[0] - cost(START - h * e, system)[0]) / (2 * h)
    assert abs(difference - slope @ e) < 1e-6 * np.linalg.norm(slope)
    best, history = optimise(system, 30)
    assert history[-1] < 2e-3 * history[0]
    assert all(low <= x <= high for x, (low, high) in zip(best, BOUNDS))
    assert (
        np.abs(gaps(system, best)[FIRST:] + DEPTH).max() < 0.3 < 6 < np.abs(gaps(system, START)[FIRST:] + DEPTH).max()
    )
    assert pose(system, best)[1].stability == "stable"


if __name__ == "__main__":
    main()
    check()
