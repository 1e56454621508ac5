"""A bellows of rubber with two chambers: how far it stretches and bends under pressure, and the loops that it runs through.

The wall is a ring of neo-Hookean rubber, E = 0.9 MPa, which thins as it stretches. Both chambers together stretch it: in equilibrium
``μ A (λ − 1/λ²) = p A_c``, so that it softens as its wall thins: 67 kPa for the first third of its length, 47 kPa for the next. One chamber alone also bends it.
Rubber does not give back all of the work: friction between chains and filler (Bouc–Wen, whatever the speed) and relaxation within
0.1 s (a Maxwell branch) make loops in pressure over length, which are widest near 1.6 Hz, where a period is 2π times that.

Checked: the formula above; the work of the pressure over two slow cycles, ∫ p dV, against what rubber stores and what the Bouc–Wen law takes along the same
path, integrated by itself; the balance of energy in a fast one.
"""

from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import panels

LENGTH, OUTER, INNER = 0.06, 0.0142, 0.0125
YOUNG = 0.9e6
WALL, AREA = np.pi * (OUTER**2 - INNER**2), np.pi * INNER**2
LIMIT, OVER = 6.0, 0.08  # [N], [–] of the hysteresis
PRESSURE = 90e3
HYSTERESIS = pl.BoucWen(stretch=(LIMIT, OVER))
BRANCH = pl.Prony(g=0.25, tau=0.1)


def build(*laws: pl.Law) -> pl.System:
    """The bellows, upright; rubber with what else its law has."""
    robot = pl.Robot("bellows actuator", gravity=(0, 0, 0))
    bellows = robot.add_rod(
        "bellows",
        length=LENGTH,
        section=pl.Annulus(OUTER, INNER),
        material=pl.Material(young=YOUNG, poisson=0.5, density=1100, viscosity=100),
        strains=pl.Strains(stretch=1, bending=1),
        law=(pl.NeoHookean(), *laws),
        offset=pl.rotate("y", -np.pi / 2),
    )
    for name, side in (("left", 1.0), ("right", -1.0)):
        robot.add_chamber(name, bellows, area=AREA / 2, y=side * 0.5 * INNER)
    return robot.compile()


def both(p: float) -> dict[str, float]:
    """The same pressure in both chambers."""
    return {"left": p, "right": p}


def stretch_of(system: pl.System, q: np.ndarray) -> np.ndarray:
    """Mean stretch of states (n, nq)."""
    return np.array([np.trapezoid(system.strain("bellows", x, 21)[:, 3], dx=1 / 20) for x in np.atleast_2d(q)])


def cycle(laws: tuple[pl.Law, ...], frequency: float, cycles: int = 2) -> pl.Result:
    """Pressure P sin²(π f t) in both chambers."""

    def u(t: float) -> dict[str, float]:
        return both(PRESSURE * np.sin(np.pi * frequency * t) ** 2)

    run = pl.simulate(build(*laws), cycles / frequency, u=u, step=1 / (400 * frequency))
    if not run.success:
        raise RuntimeError(run.message)
    return run


def work(run: pl.Result, since: float = 0.0) -> float:
    """∫ p dV from a part of the run on [J]."""
    last = run.t >= since * run.t[-1] - 1e-9
    volume = np.array([-sum(run.system.tendon_lengths(q)[0]) for q in run.q[last]])
    return float(np.trapezoid(run.u[last, 0], volume))


def pressure_of(stretch: float) -> float:
    """Of rubber alone [Pa]."""
    return float(YOUNG / 3 * WALL * (stretch - stretch**-2) / AREA)


def stored(stretch: float) -> float:
    """Energy of rubber alone [J]."""
    return float(LENGTH * WALL * YOUNG / 6 * (stretch**2 + 2 / stretch - 3))


def bouc_wen_work(turns: list[float]) -> float:
    """Work that the law takes between stretches in turn, by its differential equation, dz/dx = 1 − |z| (1 + sgn(z dx))/2 [J]."""
    y = np.zeros(2)  # z and ∫ z dx
    for a, b in pairwise(turns):
        sign = np.sign(b - a)

        def rate(_x: float, y: np.ndarray, sign: float = sign) -> list[float]:
            return [sign * (1 - abs(y[0]) * (1 + np.sign(sign * y[0])) / 2), sign * y[0]]

        y = solve_ivp(rate, (0, abs(b - a) / OVER), y, rtol=1e-9, atol=1e-11).y[:, -1]
    return float(LENGTH * LIMIT * OVER * y[1])


def figures(runs: dict[str, pl.Result]) -> dict[str, object]:
    """Loops of pressure over stretch, and shapes with one chamber."""
    figure, (ax,) = panels()
    for label, run in runs.items():
        last = run.t >= 0.5 * run.t[-1]
        ax.plot(stretch_of(run.system, run.q[last]), 1e-3 * run.u[last, 0], label=label)
    line = np.linspace(1.0, max(stretch_of(run.system, run.q).max() for run in runs.values()), 50)
    ax.plot(line, [1e-3 * pressure_of(x) for x in line], "k--", lw=1, label="rubber alone, slowly")
    ax.set(xlabel="stretch λ", ylabel="pressure [kPa]")
    ax.legend()
    system, values = build(HYSTERESIS), np.array([0.0, 20.0, 40.0, 60.0])
    bent = [pl.solve_statics(system, {"left": 1e3 * p, "right": 0.0}).q for p in values]
    shapes = plot_configurations(system, bent, values=values, label="pressure on one side [kPa]", view="yz")
    return {"loops": figure, "shapes": shapes}


def main(figures_dir: str | None = None) -> None:
    runs = {f"{f:g} Hz": cycle((HYSTERESIS, BRANCH), f) for f in (0.1, 1.0, 4.0)}
    print("pressure up to 90 kPa and back: frequency, largest stretch, work lost in a cycle")
    for label, run in runs.items():
        print(f"{label:>8} {stretch_of(run.system, run.q).max():8.3f} {1e3 * work(run, 0.5):8.2f} mJ")
    gallery.save(figures_dir, figures, runs)


def check() -> None:
    """Rubber alone as the formula says, loops as wide as the laws, and no energy from nowhere."""
    plain = build()
    for stretch in (0.9, 1.3, 1.8):
        rest = pl.solve_statics(plain, both(pressure_of(stretch)))
        np.testing.assert_allclose(stretch_of(plain, rest.q), stretch, rtol=1e-8)
    slow = cycle((HYSTERESIS,), 0.05)
    path = stretch_of(slow.system, slow.q)
    n = len(path) // 4
    turns = [1.0, path[: n * 2].max(), path[n : 3 * n].min(), path[2 * n :].max(), path[-1]]
    np.testing.assert_allclose(work(slow), stored(path[-1]) + bouc_wen_work(turns), rtol=2e-3)
    fast = cycle((HYSTERESIS, BRANCH), 1.0)
    balance = fast.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-6 * balance["dissipated"][-1]
    assert work(fast, 0.5) > 1.2 * work(slow, 0.5)


if __name__ == "__main__":
    main()
    check()
