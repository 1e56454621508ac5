"""Things that roll, slide and tumble down into a hollow.

The ground is a height field. A ball, a crate, a capsule, a stone (a convex hull) and a ring (a mesh with a hole) fall on its slopes and meet at its
bottom: corners and edges of bodies touch the ground and each other. Two numbers are known: a ball that rolls to and fro in a round trough swings as a pendulum,
with 7/5 of its mass, ω² = 5 g / (7 (R − r)), and without friction it slides with ω² = g / (R − r).
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels

TROUGH, RADIUS, SWING = 0.5, 0.05, 0.02  # radius of the trough and of the ball, amplitude [m]
LAW = {"stiffness": 2e5, "damping": 3.0, "friction": 0.4, "stiction": 1e-4}


def trough(friction: float) -> pl.System:
    """A ball in a round trough, beside its lowest place."""
    robot = pl.Robot("trough")
    angle, lever = SWING / (TROUGH - RADIUS), TROUGH - RADIUS
    robot.add_body(
        "ball", joint=pl.Free(), shape=pl.Sphere(RADIUS), mass=0.2,
        offset=(lever * np.sin(angle), 0, TROUGH - lever * np.cos(angle)),
    )  # fmt: skip
    round_ = pl.HeightField.from_function(
        lambda x, y: TROUGH - np.sqrt(TROUGH**2 - np.clip(x, -0.3, 0.3) ** 2), size=(0.8, 0.4), nodes=(161, 5)
    )
    robot.add_obstacle("ground", round_)
    robot.add_contact("touch", "ball", "ground", stiffness=1e6, friction=friction)
    return robot.compile()


def period(friction: float) -> float:
    """Of the ball in the trough [s]."""
    run = pl.simulate(trough(friction), 3.0, output=0.005)
    x = run.positions("ball")[:, 0]
    k = np.flatnonzero(np.sign(x[1:]) != np.sign(x[:-1]))
    zeros = run.t[k] - x[k] * (run.t[k + 1] - run.t[k]) / (x[k + 1] - x[k])
    return float(2 * np.mean(np.diff(zeros)))


def pendulum(share: float) -> float:
    """The same for a pendulum whose inertia is this share of its mass [s]."""
    length = TROUGH - RADIUS
    return float(2 * np.pi * np.sqrt(share * length / 9.81) * (1 + (SWING / length) ** 2 / 16))


def ring() -> pl.Mesh:
    """A flat ring, as triangles."""
    surface = []
    for k in range(16):
        a, b = 2 * np.pi * np.array([k, k + 1]) / 16
        p = [
            (r * np.cos(t), r * np.sin(t), z)
            for r, z in ((0.05, -0.015), (0.09, -0.015), (0.09, 0.015), (0.05, 0.015))
            for t in (a, b)
        ]
        for i in range(4):
            c = [2 * i, (2 * i + 2) % 8, (2 * i + 3) % 8, 2 * i + 1]
            surface += [[p[c[0]], p[c[2]], p[c[1]]], [p[c[0]], p[c[3]], p[c[2]]]]
    return pl.Mesh(np.array(surface).reshape(-1, 3), np.arange(3 * len(surface)).reshape(-1, 3))


def hollow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height of the ground [m]."""
    return 0.45 * (x**2 + y**2) + 0.02 * np.cos(9 * x) * np.cos(8 * y)


def build() -> pl.System:
    robot = pl.Robot("hollow")
    robot.add_obstacle("ground", pl.HeightField.from_function(hollow, size=(1.6, 1.6), nodes=(65, 65)))
    stone = pl.Hull(0.05 * np.random.default_rng(0).normal(size=(12, 3)))
    shapes = {
        "ball": (pl.Sphere(0.06), -0.55, 0.1),
        "crate": (pl.Box(0.14, 0.1, 0.1), 0.45, 0.35),
        "capsule": (pl.Capsule(0.035, 0.12), 0.05, -0.55),
        "stone": (stone, 0.4, -0.35),
        "ring": (ring(), -0.35, -0.45),
    }
    for name, (shape, x, y) in shapes.items():
        offset = pl.translate(x, y, hollow(x, y) + 0.13) @ pl.rotate((1, 1, 0), 0.6)
        robot.add_body(name, joint=pl.Free(), shape=shape, density=700, offset=offset, com=(0, 0, 0))
    robot.add_contacts("touch", "*", "*", **LAW)
    return robot.compile()


def tumble(system: pl.System) -> pl.Result:
    return pl.simulate(system, 3.0, output=0.01)


def carried(run: pl.Result) -> float:
    """Impulse of the ground, as a share of the weight's and the change of momentum, which it must balance."""
    force = np.array([state.force_on("ground")[2] for state in run.contacts()])
    impulse = -np.trapezoid(force, run.t)
    momentum = run.momenta().linear[:, 2]
    return float(impulse / (run.system.mass * 9.81 * run.t[-1] + momentum[-1] - momentum[0]))


def figures(run: pl.Result) -> dict[str, object]:
    shapes, (left, right) = panels(1, 2, space=True, size=(8.4, 4.0))
    for ax, t in ((left, 0.3), (right, 3.0)):
        run.plot_shape(t, ax=ax)
        ax.set(title=f"{t:.1f} s", xlim=(-0.6, 0.6), ylim=(-0.6, 0.6), zlim=(0, 0.6))
        ax.view_init(40, -60)
    return {
        "shapes": shapes,
        "paths": run.plot_trajectory("ball"),
        "contacts": run.plot_contacts(["touch: ball on ground"]),
    }


def main(figures_dir: str | None = None) -> None:
    for friction, share in ((0.0, 1.0), (0.8, 1.4)):
        print(f"friction {friction}: period {period(friction):.4f} s, pendulum {pendulum(share):.4f} s")
    run = tumble(build())
    print(f"{run}\nthe ground's impulse is {carried(run):.4f} of what weight and momentum need")
    print(run.contacts(3.0))
    gallery.save(figures_dir, figures, run)


def check() -> None:
    assert abs(period(0.0) / pendulum(1.0) - 1) < 3e-4  # slides
    assert abs(period(0.8) / pendulum(1.4) - 1) < 3e-4  # rolls
    run = tumble(build())
    assert run.success
    assert abs(carried(run) - 1) < 0.02
    for name in ("ball", "crate", "capsule", "stone", "ring"):
        x, y, z = run.positions(name)[-1]
        assert 0 < z - hollow(x, y) < 0.13  # on the ground
        assert np.hypot(x, y) < 0.6


if __name__ == "__main__":
    main()
    check()
