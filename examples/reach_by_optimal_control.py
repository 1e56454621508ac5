"""The five-cable manipulator reaches a point in a second, at rest, above a table: optimal tensions by `pl.optimize`.

The arm of [002] with 24 degrees of freedom hangs under gravity. Fifty sets of five tensions between 0 and 40 N are chosen so that its tip is at a point after a
second and does not move there, with little effort: it swings down first. Then the same above a table, a constraint on the tip at all states. The optimum is checked by
the adjoint of the rollout, and the steps of 20 ms by the error-controlled solver.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

GOAL, TABLE = np.array([0.40, 0.12, 0.10]), -0.25  # m: where to, and how low the tip may get
COST = [pl.Reach("arm.tip", GOAL, 1000.0), pl.Still("arm.tip", 10.0), pl.Effort(1e-4)]
HORIZON, KNOTS, LARGEST = 1.0, 50, 40.0  # s, inputs, N


def build() -> pl.System:
    """The manipulator of [002]."""
    return gallery.load("cable_driven_manipulator").build()


def plan_motion(system: pl.System, table: float | None = None, start: object = None) -> pl.OptimalPlan:
    """The best tensions, with or without the table."""
    height = pl.costs.Position("arm.tip")[2]
    return pl.optimize(
        system,
        COST,
        bounds=(0, LARGEST),
        horizon=HORIZON,
        knots=KNOTS,
        start=pl.solve_statics(system) if start is None else start,
        constraints=[] if table is None else [height >= table],
        tolerance=1e-5,
        iterations=300,
        violation=1e-5,
    )


def projected_gradient(plan: pl.OptimalPlan) -> float:
    """The largest derivative of the cost by a tension that no bound holds back, by the adjoint, relative to where the iteration began."""
    g = plan.rollout.gradient(COST).u
    held = ((plan.u <= 1e-9) & (g > 0)) | ((plan.u >= LARGEST - 1e-9) & (g < 0))
    return float(np.abs(np.where(held, 0.0, g)).max() / plan.scale)


def figures(run: tuple[pl.OptimalPlan, pl.OptimalPlan]) -> dict[str, object]:
    free, low = run
    motion, axes = panels(1, 2, size=(8, 3.2))
    for plan, line, name in ((free, "-", "free"), (low, "--", "above the table")):
        path = plan.rollout.positions("arm.tip")
        for k, axis in enumerate("xyz"):
            axes[0].plot(plan.t, path[:, k], f"C{k}{line}", label=axis if plan is free else None)
        axes[1].step(plan.problem.times[:-1], plan.u[:, 0], f"C0{line}", where="post", label=f"cable 1, {name}")
        axes[1].step(plan.problem.times[:-1], plan.u[:, 2], f"C1{line}", where="post", label=f"cable 3, {name}")
    axes[0].axhline(TABLE, color="0.6", lw=0.8)
    axes[0].set(xlabel="t [s]", ylabel="tip [m]")
    axes[1].set(xlabel="t [s]", ylabel="tension [N]")
    for each in axes:
        legend(each)
    descent, (ax,) = panels(1, 1, size=(6, 3.2))
    ax.semilogy(free.costs, label="cost")
    ax.semilogy(free.slopes, label="projected gradient, relative")
    ax.set(xlabel="iteration")
    legend(ax)
    return {"snapshots": free.rollout.result().plot_snapshots(9), "motion": motion, "descent": descent}


def main(figures_dir: str | None = None) -> None:
    system = build()
    free = plan_motion(system)
    low = plan_motion(system, TABLE, free)
    for name, plan in (("free", free), ("above the table", low)):
        path = plan.rollout.positions("arm.tip")
        print(
            f"{name}: {plan.status}, cost {plan.cost:.4f}, {plan.iterations} iterations and {plan.rollouts} rollouts in {plan.seconds:.2f} s; tip "
            f"{1e3 * np.linalg.norm(path[-1] - GOAL):.2f} mm from the goal, at least {path[:, 2].min():.4f} m high"
        )
    print(
        f"projected gradient {projected_gradient(free):.1e} of the largest; steps of {1e3 * free.problem.step:.0f} ms are within "
        f"{1e3 * free.error('arm.tip'):.1f} mm of the error-controlled solver"
    )
    gallery.save(figures_dir, figures, (free, low))


def check() -> None:
    system = build()
    free = plan_motion(system)
    path = free.rollout.positions("arm.tip")
    assert free.success
    assert np.linalg.norm(path[-1] - GOAL) < 2e-3
    assert free.u.min() >= 0.0
    assert free.u.max() <= LARGEST
    assert projected_gradient(free) < 2e-5
    assert free.error("arm.tip") < 5e-3
    low = plan_motion(system, TABLE, free)
    assert low.success
    assert path[:, 2].min() < TABLE - 0.02
    assert low.rollout.positions("arm.tip")[:, 2].min() > TABLE - 1e-4
    assert low.cost > free.cost


if __name__ == "__main__":
    main()
    check()
