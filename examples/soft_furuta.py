"""Soft Furuta pendulum: a soft arm turned about the vertical, a soft pendulum at its tip, swung up by an optimal plan and caught by a regulator.

The plant of arXiv 2602.03435 (two hinges, two soft links with three Legendre modes each of three strains: 20 degrees of freedom; one bounded torque). Its numbers are not at
hand; those here are chosen: rubber links of 0.25 m and 0.3 m that twist and bend in all directions; the arm sags by 11 mm and gives way under the pendulum. The plan is run on the
error-controlled solver, sampled at 100 Hz with the feedback of a regulator along it; a regulator about the upright pendulum takes over.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

QUICK = False
TORQUE, PLANNED, PERIOD, HORIZON = 0.4, 0.3, 0.01, 2.0  # N m, of which the plan may use so much; s, s
YOUNG, VISCOSITY = 3e7, 1.5e4  # Pa, Pa s
MODES = pl.Legendre(2)  # three functions
SOFT = pl.Strains(torsion=MODES, bending=MODES)


def plant(young: float = YOUNG, density: float = 1000.0, hub: float = 0.2) -> pl.System:
    """Arm along x that turns about z, pendulum that hangs from its tip and turns about its axis."""
    rubber = pl.Material(young=young, poisson=0.5, density=density, viscosity=VISCOSITY)
    robot = pl.Robot("soft Furuta pendulum")
    first = robot.add_body("hub", joint=pl.Revolute("z"), shape=pl.Cylinder(0.03, 0.03, "z"), mass=hub)
    arm = robot.add_rod("arm", parent=first, length=0.25, section=pl.Circle(0.0125), material=rubber, strains=SOFT)
    hinge = robot.add_body(
        "hinge", parent=arm.tip, joint=pl.Revolute("x"), shape=pl.Cylinder(0.01, 0.03, "x"), mass=0.02
    )
    robot.add_rod(
        "pendulum",
        parent=hinge,
        offset=pl.rotate("y", np.pi / 2),
        length=0.3,
        section=pl.Circle(0.008),
        material=rubber,
        strains=SOFT,
    )
    robot.add_motor("torque", first)
    return robot.compile()


def upright(system: pl.System) -> pl.Equilibrium:
    q = system.neutral()
    q[10] = np.pi
    return pl.solve_statics(system, start=q, stable=False)


JOINTS, SPEEDS = pl.costs.Coordinates(["hub", "hinge"]), pl.costs.Rates(["hub", "hinge"])
WEIGHED = pl.costs.stack(
    JOINTS / (1.0, 0.3), SPEEDS / 3.0, pl.costs.Rates(["arm", "pendulum"]) / 30.0
)  # what weighs as much as ...
EFFORT = 1 / 0.3**2  # ... 0.3 N m


def regulator(system: pl.System, rest: pl.Equilibrium) -> pl.control.LQR:
    """Keeps the pendulum upright, sampled."""
    return pl.control.LQR(system, rest, WEIGHED, EFFORT, period=PERIOD, bounds=(-TORQUE, TORQUE))


def swing_up(system: pl.System, rest: pl.Equilibrium, **options) -> pl.OptimalPlan:
    """From the hanging pendulum to the upright one with little torque; what is left at the end costs what it costs the regulator to put right."""
    cost = [JOINTS.near((0.0, np.pi), weight=0.02), pl.Effort(5.0), regulator(system, rest).value()]
    knots = round(HORIZON / PERIOD)
    first = 0.03 * np.sin(8.0 * PERIOD * np.arange(knots))[:, None]  # a small push that begins to swing
    asked = {"tolerance": 1e-4, "guess": first, **options}
    return pl.optimize(
        system, cost, bounds=(-PLANNED, PLANNED), horizon=HORIZON, knots=knots, start=pl.solve_statics(system), **asked
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
    system: pl.System, plan: pl.OptimalPlan, duration: float = 4.0, u=None, plant: pl.System | None = None
) -> pl.Result:
    """The plan on the error-controlled solver, perhaps on a plant that is another one."""
    law = feedback(plan, regulator(system, upright(system))) if u is None else u
    actual = system if plant is None else plant
    return pl.simulate(actual, duration, start=pl.solve_statics(actual), u=law, output=0.01)


def figures(run: pl.Result) -> dict[str, object]:
    angles, axes = panels(1, 1)
    axes[0].plot(run.t, np.degrees(run.q[:, 0]), label="hub [°]")
    axes[0].plot(run.t, np.degrees(run.q[:, 10]), label="hinge [°]")
    axes[0].step(run.t, 100 * run.u[:, 0], label="torque [0.01 N m]", lw=0.8)
    axes[0].set(xlabel="t [s]")
    legend(axes[0])
    return {"shapes": run.plot_snapshots(np.arange(0, 2.01, 0.1)), "angles": angles}


def main(figures_dir: str | None = None) -> None:
    system = plant()
    rest = upright(system)
    poles = np.linalg.eigvals(pl.linearize(system, rest).A)
    print(f"{system.nv} degrees of freedom; upright {rest.stability}, growth {poles.real.max().round(2)} /s")
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
    assert unstable.sum() == 1  # the pendulum falls, and the torque reaches that motion
    assert np.all(np.abs(left[:, unstable].T @ B) > 1e-3)
    # stabilisation from an offset, on the nonlinear model
    start = rest.q + 0.05 * np.eye(20)[10]
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
    assert np.abs(run.q[run.t > 3.5][:, [0, 10]] - (0.0, np.pi)).max() < 0.03
    loop = predictive(plan, regulator(system, rest)).run(4.0, plant=plant(young=0.9 * YOUNG))
    assert np.abs(loop.u).max() <= TORQUE
    assert np.abs(loop.q[loop.t > 3.5, 10] - np.pi).max() < 0.02


if __name__ == "__main__":
    main()
    check()
    check_swing_up()
