"""The planar continuum parallel robot of [000] section X.C: two elastic legs, driven at their feet, joined at their tips.

The loop is mounted in statics, then the torques of Table II act for ten seconds: both ramp up and hold, one oscillates three times
and recovers. The numbers of the paper do not fit together. Read here: I = 1.5708e-12 m⁴ (printed 1.5708e-8, which is 1e4 too
stiff); torques k t from 0 to 2 s, so that they hold 1 N m as printed; an oscillation of 0.2 N m (7 N m would wind the legs up);
A = 3.1416e-5 m², ten times the print: with this inertia the robot makes the two movements that the paper describes, with the
printed one, 3.1416e-6, it follows the torque. Assumed: feet at y = ±0.4 m, legs that meet on the x axis, no gravity in the
plane, damping μ = 1e-4 s times the stiffness. docs/papers/000.md has what other readings give.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from scipy.signal import find_peaks

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels

E, I, A, DENSITY, MU = 2.1e11, 1.5708e-12, 3.1416e-5, 7800, 1e-4
EI, LENGTH, HALF = E * I, 1.0, 0.4
RAMP, HOLD, SWING, CYCLES = 0.5, 1.0, 0.2, 3  # N m/s, N m, N m


def build(apart: float = 0.0, order: int = 4) -> pl.System:
    """The robot; in its reference configuration the feet and with them the tips are `apart` too far from each other."""
    robot = pl.Robot("continuum parallel robot", gravity=(0, 0, 0))
    stiffness = E * I * np.array([1, 1, 1, 1, 1, 1])  # no stretch and no shear
    for k, side in ((1, 1.0), (2, -1.0)):
        foot = pl.translate(0, side * (HALF + apart / 2), 0) @ pl.rotate("z", -side * np.arcsin(HALF / LENGTH))
        leg = robot.add_rod(
            f"leg{k}",
            joint=pl.Revolute("z"),
            offset=foot,
            length=LENGTH,
            stiffness=stiffness,
            damping=MU * stiffness,
            inertia=DENSITY * np.array([2 * I, I, I, A, A, A]),
            strains=pl.Strains.planar_bending(pl.Chebyshev(order)),
        )
        robot.add_motor(f"motor{k}", leg)
    robot.add_loop("tip", "leg1.tip", "leg2.tip", joint=pl.Revolute("z"))  # in the plane two of its five rows matter
    return robot.compile()


def torques(t: float) -> dict[str, float]:
    """Table II."""
    hold = min(RAMP * t, HOLD)
    swing = SWING * (1 - np.cos(2 * np.pi * CYCLES * (t - 4) / 3)) if 4 < t < 7 else 0.0
    return {"motor1": hold + swing, "motor2": -hold}


def run(system: pl.System, **options: float) -> pl.Result:
    """Ten seconds from the mounted robot."""
    return pl.simulate(system, 10.0, u=torques, start=pl.solve_statics(system), output=0.05, **options)


def movements(result: pl.Result) -> np.ndarray:
    """Times of the upper turning points of the tip while the torque oscillates, and shortly after [s]."""
    times = np.linspace(4, 8, 401)
    y = result.resample(times).positions("leg1.tip")[:, 1]
    return times[find_peaks(y, prominence=0.2 * np.ptp(y))[0]]


def tip_forces(result: pl.Result) -> np.ndarray:
    """The multipliers as the force of leg 1 on leg 2 in world axes [N], (nt, 2)."""
    rows = zip(result.q, result.multipliers)
    return np.array([result.system.loop_wrench("tip", q, x, axes="world")[3:5] for q, x in rows])


def elastica(torque: float) -> tuple[float, float]:
    """Foot angle and tip x of the symmetric robot at rest, by shooting: EI κ = F (x_tip − x), F the force of the mirror."""

    def shape(unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle, force, reach = unknown
        sol = solve_ivp(
            lambda _s, y: [np.cos(y[2]), np.sin(y[2]), force * (reach - y[0]) / EI],
            (0, LENGTH),
            [0, HALF, angle],
            rtol=1e-12,
            atol=1e-13,
        )
        end = sol.y[:, -1]
        return end, np.array([end[1], end[0] - reach, force * reach + torque])

    start = np.array([-np.arcsin(HALF / LENGTH), -torque, 0.9])
    angle, _force, reach = fsolve(lambda x: shape(x)[1], start, xtol=1e-13)
    return angle + np.arcsin(HALF / LENGTH), reach


def figures(result: pl.Result) -> dict[str, object]:
    """Figures 11 to 13 of the paper: torques, foot angles, force in the tip joint, tip, snapshots."""
    over_time, axes = panels(2, 2, size=(9.6, 5.4))
    result.plot_inputs(ax=axes[0])
    result.plot_coordinates(["leg1.angle", "leg2.angle"], ax=axes[1])
    result.plot_multipliers("tip", components="world", ax=axes[2])
    result.plot_tip("leg1", components="xy", ax=axes[3])
    shapes, axes = panels(1, 2, size=(9, 4))
    for ax, times in zip(axes, (np.arange(1, 2.1, 0.25), np.arange(4, 7.1, 0.25))):
        result.plot_snapshots(times, view="xy", ax=ax)
    return {"snapshots": shapes, "motion": over_time}


def main(figures_dir: str | None = None) -> None:
    print(f"mounted from 0.2 m apart: {pl.solve_statics(build(apart=0.2))}")
    system = build()
    rest = pl.solve_statics(system, {"motor1": HOLD, "motor2": -HOLD})
    print(
        f"at rest under ±{HOLD} N m: foot angle {rest.q[0]:.6f} rad, tip x {system.pose('leg1.tip', rest.q)[0, 3]:.6f} m, "
        "by shooting {:.6f} rad, {:.6f} m".format(*elastica(HOLD))
    )
    result = run(system, step=0.01)
    print(f"\nstep 0.01 s: {result.statistics}")
    print("   t [s]   angles of the feet [rad]    tip x, y [m]          multipliers, world [N]")
    tip, force, half = result.positions("leg1.tip"), tip_forces(result), system.nq // 2
    for k in [*range(20, 81, 10), *range(85, 141, 5), 170, 200]:
        a, b = result.q[k, [0, half]]
        row = a, b, *tip[k, :2], *force[k]
        print(f"{result.t[k]:8.2f}" + "".join(f"{x:13.5f}" for x in row))
    print(f"three cycles of the torque; upper turning points of the tip at {movements(result)} s")
    gallery.save(figures_dir, figures, result)


def check() -> None:
    # mounting from far apart ends in a closed, stress-free triangle
    wide = build(apart=0.2)
    mounted = pl.solve_statics(wide)
    assert np.abs(wide.closure(mounted.q)[0]).max() < 1e-12
    assert wide.elastic_energy(mounted.q) < 1e-12
    # at rest under the held torques: an independent computation
    system = build(order=8)
    rest = pl.solve_statics(system, {"motor1": HOLD, "motor2": -HOLD})
    assert rest.success, rest.message
    np.testing.assert_allclose((rest.q[0], system.pose("leg1.tip", rest.q)[0, 3]), elastica(HOLD), atol=1e-6)
    # the robot is symmetric as long as the torques are
    system = build()
    coarse, fine = run(system, step=0.002), run(system, step=0.001)
    early, half = coarse.t <= 4, system.nq // 2
    np.testing.assert_allclose(coarse.q[early, :half], -coarse.q[early, half:], atol=1e-9)
    assert np.abs(coarse.positions("leg1.tip")[early, 1]).max() < 1e-9
    assert coarse.positions("leg1.tip")[~early, 1].max() > 0.1  # then it tilts upwards
    # two steps agree, and the loop is closed
    assert np.abs(coarse.positions("leg1.tip") - fine.positions("leg1.tip")).max() < 2e-3
    assert len(movements(coarse)) == 2  # of three cycles, as in the paper
    assert max(np.abs(system.closure(q)[0]).max() for q in coarse.q) < 1e-10


if __name__ == "__main__":
    main()
    check()
