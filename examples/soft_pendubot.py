"""Soft pendubot: two soft links, a motor at the shoulder alone, swung up by an optimal plan and caught by a regulator.

The plant of arXiv 2602.03435 (two hinges, two soft links with three Legendre modes each of bending, stretch and shear: 20 degrees of freedom; one bounded torque). Its
numbers are not at hand; those here are chosen: rubber links of 0.3 m, and a torque of 0.6 N m, which is less than the 0.79 N m that the stretched robot needs to be held
horizontal. The plan is run on the error-controlled solver, sampled at 100 Hz with the feedback of a regulator along it; a regulator about the upright robot takes over.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

QUICK = False
TORQUE, PERIOD, HORIZON = 0.6, 0.01, 2.5  # N m, s, s
YOUNG, VISCOSITY = 4e6, 6e3  # Pa, Pa s
MODES = pl.Legendre(2)  # three functions
SOFT = pl.Strains(bending_y=MODES, stretch=MODES, shear_z=MODES)


def plant(young: float = YOUNG, density: float = 1000.0, shoulder: float = 0.1) -> pl.System:
    """Hanging down at rest; hinges about y."""
    rubber = pl.Material(young=young, poisson=0.5, density=density, viscosity=VISCOSITY)
    robot = pl.Robot("soft pendubot")
    first = robot.add_body("shoulder", joint=pl.Revolute("y"), shape=pl.Cylinder(0.02, 0.03, "y"), mass=shoulder)
    down = pl.rotate("y", np.pi / 2)
    upper = robot.add_rod(
        "upper", parent=first, offset=down, length=0.3, section=pl.Circle(0.015), material=rubber, strains=SOFT
    )
    elbow = robot.add_body(
        "elbow", parent=upper.tip, joint=pl.Revolute("y"), shape=pl.Cylinder(0.012, 0.03, "y"), mass=0.02
    )
    robot.add_rod("lower", parent=elbow, length=0.3, section=pl.Circle(0.01), material=rubber, strains=SOFT)
    robot.add_motor("torque", first)
    return robot.compile()


def upright(system: pl.System) -> pl.Equilibrium:
    q = system.neutral()
    q[0] = np.pi
    return pl.solve_statics(system, start=q, stable=False)


JOINTS, SPEEDS = pl.costs.Coordinates(["shoulder", "elbow"]), pl.costs.Rates(["shoulder", "elbow"])
WEIGHED = pl.costs.stack(
    JOINTS / 0.3, SPEEDS / 3.0, pl.costs.Rates(["upper", "lower"]) / 30.0
)  # what weighs as much as ...
EFFORT = 1 / 0.3**2  # ... 0.3 N m


def regulator(system: pl.System, rest: pl.Equilibrium) -> pl.control.LQR:
    """Keeps both links upright, sampled."""
    return pl.control.LQR(system, rest, WEIGHED, EFFORT, period=PERIOD, bounds=(-TORQUE, TORQUE))


def swing_up(system: pl.System, rest: pl.Equilibrium, **options) -> pl.OptimalPlan:
    """From the hanging robot to the upright one with little torque; what is left at the end costs what it costs the regulator to put right."""
    cost = [JOINTS.near((np.pi, 0.0), weight=0.1), pl.Effort(5.0), regulator(system, rest).value()]
    knots = round(HORIZON / PERIOD)
    first = 0.06 * np.sin(5.0 * PERIOD * np.arange(knots))[:, None]  # a small push that begins to swing
    asked = {"tolerance": 1e-4, "guess": first, **options}
    return pl.optimize(
        system, cost, bounds=(-TORQUE, TORQUE), horizon=HORIZON, knots=knots, start=pl.solve_statics(system), **asked
    )


def feedback(plan: pl.OptimalPlan, catch: pl.control.LQR):
    """Along the plan, then about its goal."""
    track = pl.control.TrackingLQR(plan.rollout, WEIGHED, EFFORT, end=catch.P, bounds=(-TORQUE, TORQUE))
    return pl.Sampled(lambda t, state: track(t, state) if t < HORIZON - 1e-9 else catch(t, state), PERIOD)


def predictive(plan: pl.OptimalPlan, catch: pl.control.LQR, **options) -> pl.TrackingMPC:
    """Predictive control along the plan, then about its goal, with a horizon of 0.2 s."""
    asked = {"horizon": 0.2, "rate": 1 / PERIOD, "bounds": (-TORQUE, TORQUE), **options}
    return pl.TrackingMPC(plan, WEIGHED, EFFORT, hold=catch, **asked)


def run_up(
    system: pl.System, plan: pl.OptimalPlan, duration: float = 5.0, u=None, plant: pl.System | None = None
) -> pl.Result:
    """The plan on the error-controlled solver, perhaps on a plant that is another one."""
    law = feedback(plan, regulator(system, upright(system))) if u is None else u
    actual = system if plant is None else plant
    return pl.simulate(actual, duration, start=pl.solve_statics(actual), u=law, output=0.01)


def figures(run: pl.Result) -> dict[str, object]:
    figure, axes = panels(1, 2, size=(9, 3.4))
    run.plot_snapshots(np.arange(0, 3.01, 0.1), view="xz", ax=axes[0])
    axes[1].plot(run.t, np.degrees(run.q[:, 0]), label="shoulder [°]")
    axes[1].plot(run.t, np.degrees(run.q[:, 10]), label="elbow [°]")
    axes[1].step(run.t, 100 * run.u[:, 0], label="torque [0.01 N m]", lw=0.8)
    axes[1].set(xlabel="t [s]")
    legend(axes[1])
    return {"shapes": figure}


def main(figures_dir: str | None = None) -> None:
    system = plant()
    rest = upright(system)
    poles = np.linalg.eigvals(pl.linearize(system, rest).A)
    print(f"{system.nv} degrees of freedom; upright {rest.stability}, growth {np.sort(poles.real)[-2:].round(2)} /s")
    plan = swing_up(system, rest)
    run = run_up(system, plan)
    print(
        f"{plan}\n{run}\nend: {np.degrees(run.q[-1, [0, 10]]).round(3)}°, largest torque {np.abs(run.u).max():.2f} N m"
    )
    gallery.save(figures_dir, figures, run)


def check() -> None:
    system = plant()
    rest = upright(system)
    assert system.nv == 20
    assert rest.stability == "divergence"
    A, B = (getattr(pl.linearize(system, rest), name) for name in "AB")
    w, left = np.linalg.eig(A.T)
    unstable = w.real > 1e-3
    assert unstable.sum() == 2  # both links fall, and the torque reaches both motions
    assert np.all(np.abs(left[:, unstable].T @ B) > 1e-3)
    # the torque that holds the stretched robot: weights of links and elbow
    weight = 9.81 * (0.3 * 1000 * np.pi * (0.015**2 * 0.15 + 0.01**2 * 0.45) + 0.02 * 0.3)
    assert TORQUE < weight < 0.8
    # stabilisation from an offset, on the nonlinear model
    start = rest.q + 0.05 * np.eye(20)[0]
    held = pl.simulate(system, 2.0, start=start, u=pl.Sampled(regulator(system, rest), PERIOD), output=0.01)
    assert np.abs(held.q[-1] - rest.q)[[0, 10]].max() < 5e-3


def check_swing_up() -> None:
    """The whole swing-up (half a minute): an optimum, which reaches the top within the bound and stays there, by feedback and by predictive control on softer links."""
    system = plant()
    rest = upright(system)
    plan = swing_up(system, rest)
    assert plan.success
    run = run_up(system, plan)
    assert np.abs(run.u).max() <= TORQUE
    assert np.abs(run.q[run.t > 4.0][:, [0, 10]] - (np.pi, 0.0)).max() < 0.02
    loop = predictive(plan, regulator(system, rest)).run(4.5, plant=plant(young=0.9 * YOUNG))
    assert np.abs(loop.u).max() <= TORQUE
    assert np.abs(loop.q[loop.t > 4.0][:, [0, 10]] - (np.pi, 0.0)).max() < 0.02


if __name__ == "__main__":
    main()
    check()
    check_swing_up()
