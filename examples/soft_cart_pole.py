"""Soft cart-pole: a soft pole on a cart, swung up by an optimal plan and caught by a regulator.

The plant of arXiv 2602.03435 (slider, hinge, soft link with three Legendre modes each of bending, stretch and shear: 11 degrees of freedom; one bounded force). Its
numbers are not at hand; those here are chosen: a rubber pole so soft that as a cantilever it could not carry its own weight (qL³/EI = 12, a clamped column buckles at 7.84).
Differential dynamic programming finds the force on the steps of the simulation; the plan is then run on the error-controlled solver, sampled at 50 Hz with the feedback of a
regulator along it, and a regulator about the upright pole takes over at its end.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

FORCE, PERIOD, HORIZON = 5.0, 0.02, 2.0  # N, s, s
YOUNG, VISCOSITY, CART = 4e6, 6e3, 0.5  # Pa, Pa s, kg
MODES = pl.Legendre(2)  # three functions


def plant(young: float = YOUNG, cart: float = CART, density: float = 1000.0) -> pl.System:
    """Cart along x, hinge about y, pole of 0.5 m that hangs down at rest."""
    rubber = pl.Material(young=young, poisson=0.5, density=density, viscosity=VISCOSITY)
    robot = pl.Robot("soft cart-pole")
    slider = robot.add_body("cart", joint=pl.Prismatic("x"), shape=pl.Box(0.12, 0.08, 0.05), mass=cart)
    hinge = robot.add_body(
        "hinge", parent=slider, joint=pl.Revolute("y"), shape=pl.Cylinder(0.012, 0.03, "y"), mass=0.02
    )
    robot.add_rod(
        "pole", parent=hinge, offset=pl.rotate("y", np.pi / 2), length=0.5, section=pl.Circle(0.01), material=rubber,
        strains=pl.Strains(bending_y=MODES, stretch=MODES, shear_z=MODES),
    )  # fmt: skip
    robot.add_motor("force", slider)
    return robot.compile()


def upright(system: pl.System) -> pl.Equilibrium:
    q = system.neutral()
    q[1] = np.pi
    return pl.solve_statics(system, start=q, stable=False)


JOINTS, SPEEDS = pl.costs.Coordinates(["cart", "hinge"]), pl.costs.Rates(["cart", "hinge"])
WEIGHED = pl.costs.stack(JOINTS / (1.0, 0.3), SPEEDS / 3.0, pl.costs.Rates("pole") / 30.0)  # what weighs as much as ...
EFFORT = 1 / 3.0**2  # ... 3 N


def regulator(system: pl.System, rest: pl.Equilibrium) -> pl.control.LQR:
    """Keeps the pole upright, sampled."""
    return pl.control.LQR(system, rest, WEIGHED, EFFORT, period=PERIOD, bounds=(-FORCE, FORCE))


def swing_up(system: pl.System, rest: pl.Equilibrium, **options) -> pl.OptimalPlan:
    """From the hanging pole to the upright one in two seconds; what is left at the end costs what it costs the regulator to put right."""
    cost = [JOINTS.near((0.0, np.pi), weight=(0.1, 1.0)), pl.Effort(0.1), regulator(system, rest).value()]
    knots = round(HORIZON / PERIOD)
    first = 0.5 * np.sin(6.0 * PERIOD * np.arange(knots))[:, None]  # a small push that breaks the symmetry
    asked = {"tolerance": 1e-4, "guess": first, **options}
    return pl.optimize(
        system, cost, bounds=(-FORCE, FORCE), horizon=HORIZON, knots=knots, start=pl.solve_statics(system), **asked
    )


def feedback(plan: pl.OptimalPlan, catch: pl.control.LQR):
    """Along the plan, then about its goal."""
    track = pl.control.TrackingLQR(plan.rollout, WEIGHED, EFFORT, end=catch.P, bounds=(-FORCE, FORCE))
    return pl.Sampled(lambda t, state: track(t, state) if t < HORIZON - 1e-9 else catch(t, state), PERIOD)


def predictive(plan: pl.OptimalPlan, catch: pl.control.LQR, **options) -> pl.TrackingMPC:
    """Predictive control along the plan, then about its goal, with a horizon of 0.4 s."""
    asked = {"horizon": 0.4, "rate": 1 / PERIOD, "bounds": (-FORCE, FORCE), **options}
    return pl.TrackingMPC(plan, WEIGHED, EFFORT, hold=catch, **asked)


def run_up(
    system: pl.System, plan: pl.OptimalPlan, duration: float = 4.0, u=None, plant: pl.System | None = None
) -> pl.Result:
    """The plan on the error-controlled solver, perhaps on a plant that is another one."""
    law = feedback(plan, regulator(system, upright(system))) if u is None else u
    actual = system if plant is None else plant
    return pl.simulate(actual, duration, start=pl.solve_statics(actual), u=law, output=0.01)


def figures(run: pl.Result) -> dict[str, object]:
    figure, axes = panels(1, 2, size=(9, 3.4))
    run.plot_snapshots(np.arange(0, 2.21, 0.1), view="xz", ax=axes[0])
    axes[1].plot(run.t, np.degrees(run.q[:, 1]), label="hinge [°]")
    axes[1].plot(run.t, 100 * run.q[:, 0], label="cart [cm]")
    axes[1].step(run.t, 10 * run.u[:, 0], label="force [0.1 N]", lw=0.8)
    axes[1].set(xlabel="t [s]")
    legend(axes[1])
    return {"shapes": figure}


def main(figures_dir: str | None = None) -> None:
    system = plant()
    rest = upright(system)
    poles = np.linalg.eigvals(pl.linearize(system, rest).A)
    print(f"{system.nv} degrees of freedom; upright {rest.stability}, growth {poles.real.max():.2f} /s")
    plan = swing_up(system, rest)
    run = run_up(system, plan)
    print(
        f"{plan}\n{run}\nend: cart {run.q[-1, 0]:.4f} m, hinge {np.degrees(run.q[-1, 1]):.3f}°, largest force {np.abs(run.u).max():.2f} N"
    )
    gallery.save(figures_dir, figures, run)


def check() -> None:
    system = plant()
    rest = upright(system)
    assert system.nv == 11
    assert rest.stability == "divergence"
    A, B = (getattr(pl.linearize(system, rest), name) for name in "AB")
    w, left = np.linalg.eig(A.T)
    unstable = w.real > 1e-3
    assert unstable.sum() == 1  # the pole falls, and the force reaches that motion
    assert np.all(np.abs(left[:, unstable].T @ B) > 1e-3)
    # energy: hanging and pushed once, without damping forces of a law, it changes by what the rubber takes
    free = pl.simulate(system, 1.0, start=rest, velocity=np.eye(11)[1] * 0.5, rtol=1e-7, atol=1e-8)
    total = free.energies().total
    assert np.all(np.diff(total) < 1e-6 * np.ptp(free.energies().kinetic))
    plan = swing_up(system, rest)
    assert plan.success
    assert np.abs(plan.u).max() == FORCE
    run = run_up(system, plan)
    assert np.abs(run.u).max() <= FORCE
    late = run.t > 3.0
    assert np.abs(run.q[late, 1] - np.pi).max() < 0.05
    assert np.abs(run.q[late, 0]).max() < 0.2
    # predictive control on another pole, with noise
    soft = plant(young=0.9 * YOUNG)
    loop = predictive(plan, regulator(system, rest)).run(4.0, plant=soft, noise=(1e-3, 1e-2))
    assert loop.failures == 0
    assert np.abs(loop.u).max() <= FORCE
    assert np.abs(loop.q[loop.t > 3.0, 1] - np.pi).max() < 0.05


if __name__ == "__main__":
    main()
    check()
