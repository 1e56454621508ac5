"""Two drones carry a payload between two soft rods: example 1 of [000] section X.B, with feedback.

Drone, rod, cuboid, rod, drone in one line along x. The rods are Kirchhoff rods of 1 m, 70 mm thick, E = 0.25 MPa, with three
Chebyshev modes of torsion and of each bending. Each drone is driven by a wrench in its own axes that follows a
desired velocity, up and down at 0.5 and 0.25 Hz, by the law F = kP e + kI ∫e dt ([000] eq. 68, 69) with kP = 20 and
kI = 2.5. The law is part of the implicit step of 0.01 s, as in the paper: its integrals are states of a `Controller`, so the result is of
second order in the step.

The paper needs 3 Newton iterations per step. It does not give masses: here a drone is 6 kg and the payload 1 kg, while
the two rods weigh 7.3 kg.
"""

from collections.abc import Callable

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

DRONES = ("drone0", "drone6")
BODIES = ("drone0", "payload", "drone6")
AXES = ("mx", "my", "mz", "fx", "fy", "fz")
KP, KI = 20.0, 2.5
Velocity = Callable[[float], np.ndarray]


def build() -> pl.System:
    """24 degrees of freedom, 12 inputs: moment and force of each drone in its own axes."""
    robot = pl.Robot("drones and payload", gravity=(0, 0, 0))
    drone = {"mass": 6.0, "inertia": (0.25, 0.25, 0.45), "shape": pl.Box(0.3, 0.3, 0.08)}
    rod = {
        "length": 1.0,
        "section": pl.Circle(radius=0.035),
        "material": pl.Material(young=0.25e6, poisson=0.5, density=950),
        "strains": pl.Strains.kirchhoff(2, basis="chebyshev"),
        "points": 20,
    }
    first = robot.add_body("drone0", joint=pl.Free(), **drone)
    left = robot.add_rod("rod2", parent=first, **rod)
    payload = robot.add_body("payload", parent=left.tip, offset=(0.1, 0, 0), shape=pl.Box(0.2, 0.2, 0.2), mass=1.0)
    right = robot.add_rod("rod5", parent=payload, offset=(0.1, 0, 0), **rod)
    robot.add_body("drone6", parent=right.tip, **drone)
    for name in DRONES:
        for k, axis in enumerate(AXES):
            part = "moment" if k < 3 else "force"
            robot.add_wrench(f"{name} {axis}", name, axes="body", **{part: np.eye(3)[k % 3]})
    return robot.compile()


def wave(frequency: float) -> Velocity:
    """The desired velocity (0, 0, sin ωt) in world axes [m/s]."""
    return lambda t: np.array([0.0, 0.0, np.sin(2 * np.pi * frequency * t)])


DESIRED = {"drone0": wave(0.5), "drone6": wave(0.25)}


class Law:
    """The law of both drones as a controller with states: the integrals of the errors (12,), and of the total force (3,) for the check."""

    def __init__(self, system: pl.System, desired: dict[str, Velocity]) -> None:
        self.system, self.desired = system, desired

    def errors(self, t: float, state: object) -> tuple[np.ndarray, list[np.ndarray]]:
        """Of the velocities of both drones in their own axes (2, 6), and the rotations of these."""
        turns = [self.system.pose(name, state.q)[:3, :3] for name in DRONES]
        error = np.array([-self.system.twist(name, state.q, state.v) for name in DRONES])
        for k, name in enumerate(DRONES):
            error[k, 3:] += turns[k].T @ self.desired[name](t)
        return error, turns

    def rate(self, t: float, x: np.ndarray, state: object) -> np.ndarray:
        """Of the 15 states."""
        error, turns = self.errors(t, state)
        wrench = KP * error + KI * x[:12].reshape(2, 6)
        return np.concatenate([error.ravel(), sum(R @ w[3:] for R, w in zip(turns, wrench))])

    def output(self, t: float, x: np.ndarray, state: object) -> np.ndarray:
        """The 12 inputs."""
        return KP * self.errors(t, state)[0].ravel() + KI * x[:12]


def fly(system: pl.System, duration: float, step: float, desired=DESIRED) -> pl.Result:
    """A flight by the implicit midpoint rule, of second order like the paper's method, with a constant step."""
    law = Law(system, desired)
    control = pl.Controller(law.rate, law.output, np.zeros(15))
    return pl.simulate(system, duration, u=control, method="midpoint", step=step, newton_tolerance=1e-6)


def displacements(result: pl.Result) -> dict[str, np.ndarray]:
    """How far the three bodies have moved, each (nt, 3) [m]."""
    paths = {name: result.positions(name) for name in BODIES}
    return {name: path - path[0] for name, path in paths.items()}


def figures(result: pl.Result) -> dict[str, object]:
    """Figures 8 and 9 of the paper: snapshots with the paths of the bodies, and their displacements."""
    shape = result.plot_snapshots([0, 1.68, 4.22, 9.44], view="xz")
    figure, axes = panels(3, 1, size=(6, 6))
    for name, move in displacements(result).items():
        result.plot_trajectory(name, view="xz", ax=shape)
        for k, ax in enumerate(axes):
            ax.plot(result.t, move[:, k], label=name)
            ax.set(xlabel="t [s]", ylabel=f"displacement {'xyz'[k]} [m]")
    legend(axes[0])
    return {"snapshots": shape, "displacements": figure, "inputs": result.plot_inputs(["drone0 fz", "drone6 fz"])}


def main(figures_dir: str | None = None) -> None:
    system = build()
    result = fly(system, 10.0, 0.01)
    s = result.statistics
    print(f"{system.name}: {system.nv} dof, {system.mass:.2f} kg, {s}")
    moves = displacements(result)
    print("displacement [m]   " + "".join(f"{name + ' x':>12}{'z':>9}" for name in BODIES))
    for t in (1.68, 4.22, 9.44, 10.0):
        k = int(np.argmin(np.abs(result.t - t)))
        print(f"t = {t:5.2f} s       " + "".join(f"{m[k, 0]:12.4f}{m[k, 2]:9.4f}" for m in moves.values()))
    gallery.save(figures_dir, figures, result)


def check() -> None:
    """The motion is planar, second order in the step, forces become momentum, and equal drones fly symmetrically."""
    system = build()
    ends = []
    for h in (0.02, 0.01, 0.005):
        result = fly(system, 4.0, h)
        assert result.success, result.message
        moves = displacements(result)
        assert max(np.abs(m[:, 1]).max() for m in moves.values()) < 1e-9
        assert result.statistics.iterations < 5 * result.statistics.steps
        momentum = system.momentum(result.q[-1], result.v[-1]).linear
        np.testing.assert_allclose(momentum, result.control[-1, 12:], atol=100 * h * h)  # of 11.5 N s
        ends.append(np.concatenate([m[-1] for m in moves.values()]))
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert 3.5 < ratio < 4.5, ratio
    np.testing.assert_allclose(ends[1], ends[2], atol=1e-3)
    skew = []  # the tree starts at one drone, which only shows in the error of the integration
    for h in (0.02, 0.01):
        result = fly(system, 4.0, h, {name: wave(0.5) for name in DRONES})
        left, payload, right = displacements(result).values()
        skew.append(max(np.abs(left - right)[:, 2].max(), np.abs(left + right - 2 * payload)[:, 0].max()))
    assert skew[1] < 0.01
    assert skew[0] / skew[1] > 3.0


if __name__ == "__main__":
    main()
    check()
