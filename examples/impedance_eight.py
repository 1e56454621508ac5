"""The tip of a soft arm goes along a figure eight on a sphere and yields to a push like a spring: impedance in position and orientation.

The task is published (SoRoMoX, operational-space impedance): two segments of constant strain, each with an input for each of its six strains, and an eight of 0.08 x 0.04 m
in 4 s with the tip normal to a sphere of 0.08 m, whose centre is taken at half the length. Stiffness 40 N/m and 0.04 N m/rad, damping 4 N s/m and 4 mN m s/rad. The inputs are
a wrench at the tip, found at 200 Hz with the whole dynamics; what does not move the tip is left to the arm itself. Held where the eight begins,
the tip is also pushed by 0.2 N.
"""

from collections.abc import Callable

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels

PERIOD = 0.005  # s
PUSH = 0.2  # N


def build() -> pl.System:
    """Two segments with an input for each of their strains: fully actuated."""
    robot = pl.Robot("segments", gravity=(0, 0, 0))
    parent = None
    for k in range(2):
        rod = robot.add_rod(
            f"s{k}",
            parent=parent,
            length=0.1,
            section=pl.Circle(0.02),
            strains=pl.Strains.constant(),
            material=pl.Material(young=2e3, poisson=0.0, density=1070),
            damping=1e-3 * np.array([1, 1, 1, 1e3, 1e3, 1e3]),
        )
        for j, name in enumerate(("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")):
            robot.add_stress(f"{name}{k}", rod, np.eye(6)[j])
        parent = rod.tip
    return robot.compile()


def eight(t: float) -> np.ndarray:
    """Where the tip is to be (4, 4), its x axis along the normal of the sphere."""
    w = 2 * np.pi / 4.0
    y, z = 0.04 * np.sin(w * t), 0.02 * np.sin(2 * w * t)
    normal = np.array([np.sqrt(0.08**2 - y * y - z * z), y, z]) / 0.08
    axis = np.cross([1.0, 0, 0], normal)
    size = np.linalg.norm(axis)
    pose = np.eye(4)
    if size > 1e-12:
        pose[:3, :3] = pl.rotate(axis / size, float(np.arctan2(size, normal[0]))).rotation
    pose[:3, 3] = np.array([0.1, 0, 0]) + 0.08 * normal
    return pose


def with_rates(path: Callable[[float], np.ndarray], h: float = 1e-3) -> Callable[[float], tuple]:
    """A path of poses with its twist and acceleration, by differences in time."""

    def twist(t: float) -> np.ndarray:
        before, after = path(t - h), path(t + h)
        turned = np.eye(4)
        turned[:3, :3] = after[:3, :3] @ before[:3, :3].T
        return np.concatenate([pl.lie.log(turned)[:3], after[:3, 3] - before[:3, 3]]) / (2 * h)

    return lambda t: (path(t), twist(t), (twist(t + h) - twist(t - h)) / (2 * h))


def law_of(system: pl.System, start: pl.Equilibrium) -> pl.control.Impedance:
    """The tip on a spring and a damper that move along the eight."""
    return pl.control.Impedance(
        system, "s1.tip", with_rates(eight), kp=[0.04] * 3 + [40.0] * 3, kd=[4e-3] * 3 + [4.0] * 3, rest=start.u
    )


def runs() -> tuple[pl.control.Impedance, dict[str, pl.Result]]:
    """One turn alone, and two seconds at rest with a push; both from the beginning of the eight."""
    system = build()
    start = pl.inverse_statics(system, {"s1.tip": eight(0.0)}).equilibrium
    law = law_of(system, start)
    still = pl.control.Impedance(system, "s1.tip", eight(0.0), law.kp, law.kd, rest=start.u)

    def push(t: float, state: object) -> np.ndarray:
        return PUSH * system.jacobian("s1.tip", state.q, reference="world")[5]

    found = {"eight": pl.simulate(system, 4.0, start=start, u=pl.Sampled(law, PERIOD), output=0.02)}
    found["push"] = pl.simulate(system, 2.0, start=start, u=pl.Sampled(still, PERIOD), tau=push, output=0.02)
    return law, found


def errors(law: pl.control.Impedance, run: pl.Result) -> tuple[float, float]:
    """Root mean squares of the distance [m] and of the angle [rad]."""
    away = []
    for t, q in zip(run.t, run.q):
        pose, goal = law.system.pose("s1.tip", q), eight(t)
        turned = np.eye(4)
        turned[:3, :3] = goal[:3, :3] @ pose[:3, :3].T
        away.append([np.linalg.norm(goal[:3, 3] - pose[:3, 3]), np.linalg.norm(pl.lie.log(turned)[:3])])
    place, turn = np.sqrt(np.mean(np.square(away), axis=0))
    return float(place), float(turn)


def figures(run: tuple[pl.control.Impedance, dict[str, pl.Result]]) -> dict[str, object]:
    """The way of the tip, and how it yields."""
    _law, found = run
    figure, axes = panels(1, 2, size=(7, 3))
    path = found["eight"].positions("s1.tip")
    goal = np.array([eight(t)[:3, 3] for t in found["eight"].t])
    axes[0].plot(1000 * goal[:, 1], 1000 * goal[:, 2], "k:", lw=2)
    axes[0].plot(1000 * path[:, 1], 1000 * path[:, 2], lw=1)
    axes[0].set(xlabel="y [mm]", ylabel="z [mm]", aspect="equal")
    push = found["push"]
    axes[1].plot(push.t, 1000 * push.positions("s1.tip")[:, 2])
    axes[1].axhline(1000 * PUSH / 40.0, color="k", ls=":")
    axes[1].set(xlabel="t [s]", ylabel="pushed by 0.2 N [mm]")
    return {"eight": figure, "snapshots": found["eight"].plot_snapshots([0.0, 0.5, 1.5, 2.5, 3.5], view="xy")}


def main(figures_dir: str | None = None) -> None:
    law, found = runs()
    place, turn = errors(law, found["eight"])
    print(f"eight: {1000 * place:.3f} mm, {turn:.4f} rad; published 2.84 mm, 0.040 rad")
    print(f"push: {1000 * found['push'].positions('s1.tip')[-1, 2]:.2f} mm, of a spring {1000 * PUSH / 40:.2f} mm")
    gallery.save(figures_dir, figures, (law, found))


def check() -> None:
    """The eight is followed to 0.1 mm and 5 mrad, and the tip yields to a push as a spring of 40 N/m does."""
    law, found = runs()
    place, turn = errors(law, found["eight"])
    assert place < 1e-4
    assert turn < 5e-3
    assert abs(found["push"].positions("s1.tip")[-1, 2] / (PUSH / 40.0) - 1.0) < 0.01


if __name__ == "__main__":
    main()
    check()
