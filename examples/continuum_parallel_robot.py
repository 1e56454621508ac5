"""The planar continuum parallel robot of [000] section X.C: two elastic legs, driven at their feet, joined at their tips.

The loop is mounted in statics, then the torques of Table II act for ten seconds: both ramp up and hold, one oscillates and
recovers. How the paper is read: I = 1.5708e-12 m⁴ (its 1.5708e-8 does not fit A = 3.1416e-6 m²); the torques grow from zero
at 1 s with 0.5 N m/s until 2 s; the oscillation of 7 N m must be a misprint too: with this stiffness the legs snap through
from 0.4 N m on and 7 N m would wind them up, so 0.2 N m is taken. Assumed where it is silent: feet at y = ±0.4 m, straight
legs that meet on the x axis, no gravity in the plane, damping μ = 1e-4 s times the stiffness.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels

E, I, A, DENSITY, MU = 2.1e11, 1.5708e-12, 3.1416e-6, 7800, 1e-4
EI, LENGTH, HALF = E * I, 1.0, 0.4
RAMP, HOLD, SWING, CYCLES = 0.5, 0.5, 0.2, 3  # N m/s, N m, N m


def build(apart: float = 0.0, order: int = 4) -> pl.System:
    """The robot; in its reference configuration the feet and with them the tips are `apart` too far from each other."""
    robot = pl.Robot("continuum parallel robot", gravity=(0, 0, 0))
    stiffness = np.array([EI, EI, EI, 1, 1, 1])  # no stretch and no shear
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
    hold = RAMP * np.clip(t - 1, 0, 1)
    swing = SWING * (1 - np.cos(2 * np.pi * CYCLES * (t - 4) / 3)) if 4 < t < 7 else 0.0
    return {"motor1": hold + swing, "motor2": -hold}


def run(system: pl.System, **options: float) -> pl.Result:
    """Ten seconds from the mounted robot."""
    return pl.simulate(system, 10.0, u=torques, start=pl.solve_statics(system), output=0.05, **options)


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
    time, axes = panels(2, 2, size=(9.6, 5.4))
    result.plot_inputs(ax=axes[0])
    result.plot_coordinates(["leg1.angle", "leg2.angle"], ax=axes[1])
    result.plot_multipliers("tip", components="world", ax=axes[2])
    result.plot_tip("leg1", components="xy", ax=axes[3])
    shapes, axes = panels(1, 2, size=(9, 4))
    for ax, times in zip(axes, (np.arange(1, 2.1, 0.25), np.arange(4, 7.1, 0.25))):
        result.plot_snapshots(times, view="xy", ax=ax)
    return {"snapshots": shapes, "motion": time}


def main(figures_dir: str | None = None) -> None:
    wide = build(apart=0.2)
    mounted = pl.solve_statics(wide)
    print(f"mounted from 0.2 m apart: {mounted}")
    held = {"motor1": HOLD, "motor2": -HOLD}
    print(f"  and with the torques held: {pl.solve_statics(wide, held, start=mounted)}")
    system = build()
    rest = pl.solve_statics(system, held)
    print(
        f"at rest under ±{HOLD} N m: foot angle {rest.q[0]:.6f} rad, tip x {system.pose('leg1.tip', rest.q)[0, 3]:.6f} m, "
        "by shooting {:.6f} rad, {:.6f} m".format(*elastica(HOLD))
    )
    result = run(system, step=0.01)
    print(f"\nstep 0.01 s: {result.statistics}")
    print("   t [s]   angles of the feet [rad]    tip x, y [m]          multipliers, world [N]")
    tip, force = result.positions("leg1.tip"), tip_forces(result)
    feet = [system.dof_names.index(f"leg{k}.angle") for k in (1, 2)]
    for k in [*range(20, 81, 10), *range(85, 141, 5), 170, 200]:
        a, b = result.q[k, feet]
        print(
            f"{result.t[k]:8.2f}{a:14.5f}{b:11.5f}{tip[k, 0]:13.5f}{tip[k, 1]:10.5f}{force[k, 0]:14.5f}{force[k, 1]:11.5f}"
        )
    print(f"closure {max(np.abs(system.closure(q)[0]).max() for q in result.q):.1e} m")
    gallery.save(figures_dir, figures, result)


def check() -> None:
    # mounting from far apart ends in a closed, stress-free triangle
    wide = build(apart=0.2)
    mounted = pl.solve_statics(wide)
    assert mounted.success, mounted.message
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
    early = coarse.t <= 4
    half = system.nq // 2
    np.testing.assert_allclose(coarse.q[early, :half], -coarse.q[early, half:], atol=1e-9)
    assert np.abs(coarse.positions("leg1.tip")[early, 1]).max() < 1e-9
    assert coarse.positions("leg1.tip")[~early, 1].max() > 0.1  # then it tilts upwards
    # two steps agree, and the loop is closed
    error = np.abs(coarse.positions("leg1.tip") - fine.positions("leg1.tip")).max()
    assert error < 2e-3, error
    assert max(np.abs(system.closure(q)[0]).max() for q in coarse.q) < 1e-10


if __name__ == "__main__":
    main()
    check()
