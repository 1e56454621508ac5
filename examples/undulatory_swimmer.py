"""The tendon-driven swimmer of [000] section X.D: a rigid head, an actuated rod and a passive rod, 1 m long together.

From the paper: elliptical sections, largest width 0.1 m, neutrally buoyant, bending stiffness 4.9 N m² (actuated) and 0.049
N m² (passive), two parallel tendons at ±0.05 m with tensions T0 + T1 sin(ωt ± π/2), T0 = T1 = 20 N, ω = 5π rad/s, five
Chebyshev modes of curvature per rod, 10 s in steps of 0.01 s, and Lighthill's large-amplitude elongated-body theory: the
added mass of the sections moves with them and leaves at the tail.

Made up, because the paper refers to another one for its geometry: head 0.2 m (half an ellipsoid), rods of 0.4 m each, the
half axes below with a blunt tail 0.08 m deep, friction along the body (0.01) and drag across it (1.1).
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels

WATER, OMEGA, ARM = 1000.0, 5 * np.pi, 0.05  # ARM: of the tendons [m]
HEAD = 0.2  # length of the head [m]; its frame is where the actuated rod starts, so the head lies at −HEAD < x < 0
NECK, WAIST, TAIL = (0.05, 0.06), (0.03, 0.06), (0.005, 0.04)  # half axes along y (lateral) and z [m]
FRICTION, ACROSS = 0.01, 1.1
SKULL = pl.Ellipsoid(0.12, *NECK)  # for pictures


def head():
    """Inertia, drag and added mass of the head by integrating over strips, 6×6 about its frame, and its volume."""
    node, weight = np.polynomial.legendre.leggauss(20)
    x, dx = 0.5 * HEAD * (node - 1), 0.5 * HEAD * weight
    shape = np.sqrt(1 - (x / HEAD) ** 2)
    a, b = NECK[0] * shape, NECK[1] * shape
    flow = {"inertia": np.zeros((6, 6)), "added": np.zeros((6, 6)), "drag": np.zeros((6, 6))}
    for xk, w, ak, bk in zip(x, dx, a, b):
        shift = np.eye(6)  # twist of the strip from that of the frame: v + ω × x
        shift[4, 2], shift[5, 1] = xk, -xk
        area = np.pi * ak * bk
        second = area * np.array([ak**2 + bk**2, bk**2, ak**2]) / 4
        girth = 2 * np.pi * np.sqrt((ak**2 + bk**2) / 2)
        strips = {
            "inertia": WATER * np.array([*second, area, area, area]),
            "added": WATER * np.pi * np.array([0, 0, 0, 0, bk**2, ak**2]),
            "drag": WATER * np.array([0, 0, 0, FRICTION * girth / 4, ACROSS * bk, ACROSS * ak]),
        }
        for name, diagonal in strips.items():
            flow[name] += w * shift.T @ np.diag(diagonal) @ shift
    return flow, float(np.pi * (a * b) @ dx)


def build(damping: float = 0.0) -> pl.System:
    """The swimmer; internal damping over stiffness [s]."""
    robot = pl.Robot("undulatory swimmer", gravity=(0, 0, -9.81))
    robot.set_fluid(density=WATER)
    flow, volume = head()
    skull = robot.add_body("head", joint=pl.Free(), inertia=pl.Inertia.from_matrix(flow["inertia"]), shape=SKULL)
    robot.add_hydrodynamics(skull, pl.Hydrodynamics(drag=flow["drag"], added_mass=flow["added"], volume=volume))
    parent = skull
    for name, EI, start, end in (("actuated", 4.9, NECK, WAIST), ("passive", 0.049, WAIST, TAIL)):
        rod = robot.add_rod(
            name,
            parent=parent,
            length=0.4,
            section=pl.Ellipse((start[0], end[0]), (start[1], end[1])),
            material=pl.Material(young=1e6, poisson=0.5, density=WATER),  # for its density
            stiffness=EI * np.ones(6),
            damping=EI * damping * np.ones(6),
            strains=pl.Strains(bending_z=4, basis="chebyshev"),
        )
        robot.add_hydrodynamics(rod, pl.Hydrodynamics.elliptic(FRICTION, ACROSS, ACROSS, tail=name == "passive"))
        parent = rod
    robot.add_tendon("left", "actuated", y=ARM)
    robot.add_tendon("right", "actuated", y=-ARM)
    return robot.compile()


def tensions(t):
    return {name: 20 + 20 * np.sin(OMEGA * t + side * np.pi / 2) for name, side in (("left", 1), ("right", -1))}


def swim(system, duration=10.0, **options):
    return pl.simulate(system, duration, u=tensions, output=0.01, **options)


def swimming(run):
    """Mean velocity of the centre of mass over the last ten beats [m/s], and its part towards the head."""
    n = 400  # outputs in ten beats
    centre = [run.system.center_of_mass(run.q[k]) for k in (-1 - n, -1)]
    velocity = (centre[1] - centre[0]) / (run.t[-1] - run.t[-1 - n])
    forward = -run.poses("head")[-n:, :3, 0].mean(axis=0)  # the head lies towards −x of its frame
    return velocity, float(velocity @ forward / np.linalg.norm(forward))


def root_torque(run):
    """Elastic torque about z at the root of the third body [N m], (nt,)."""
    return np.array([run.system.stress("passive", q, [0.0])[0, 2] for q in run.q])


def figures(run):
    """Figures 15 and 16 of the paper: snapshots every 1.65 s, torques of tendons and of the passive rod's root."""
    figure, (ax,) = panels()
    ax.plot(run.t[:301], ARM * (run.u[:301, 0] - run.u[:301, 1]), label="tendons")
    ax.plot(run.t[:301], root_torque(run)[:301], label="elastic, root of the passive rod")
    ax.set(xlabel="t [s]", ylabel="torque [N m]")
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return {"snapshots": run.plot_snapshots(np.arange(0, 10, 1.65), view="xy"), "torques": figure}


def main(figures_dir=None):
    system = build()
    print(run := swim(system, step=0.01))
    velocity, ahead = swimming(run)
    course, speed = np.degrees(np.arctan2(velocity[1], -velocity[0])), np.linalg.norm(velocity)
    print(f"  swims with {speed:.4f} m/s, {ahead:.4f} m/s head first, {course:+.2f}° off its first course")
    torque = root_torque(run)
    early, late = np.abs(torque[:301]).max(), np.abs(torque[-201:]).max()
    print(
        f"  elastic torque at the root of the passive rod: up to {early:.4f} N m in the first 3 s, later {late:.4f} N m"
    )
    gallery.save(figures_dir, figures, run)


def check():
    system = build()
    assert system.nv == 16
    # the tendons bend with 2 cos ωt N m, whatever the shape: ∫ τ ds over the actuated rod
    first = system.dof_names.index("actuated.bending_z[0]")
    q, u = system.random(0, scale=0.2), system.inputs(tensions(0.03))
    assert abs((system.actuation_matrix(q) @ u)[first] - 0.4 * 2 * np.cos(OMEGA * 0.03)) < 1e-12
    # planar, head first, and straight on
    run = swim(system, step=0.01)
    assert run.success
    assert max(np.abs(run.positions(frame)[:, 2]).max() for frame in ("head", "passive.tip")) < 1e-11
    velocity, ahead = swimming(run)
    assert abs(ahead - 0.3244) < 2e-3
    assert ahead > 0.999 * np.linalg.norm(velocity)
    assert abs(velocity[1]) < 5e-3
    # after the transient the torque repeats with every beat, and half a beat later it is opposite
    torque = root_torque(run)
    assert 0.63 < np.abs(torque[:301]).max() < 0.66
    assert 0.11 < np.abs(torque[-201:]).max() < 0.12
    np.testing.assert_allclose(torque[-201:], torque[-241:-40], atol=4e-3)
    np.testing.assert_allclose(torque[-201:], -torque[-221:-20], atol=4e-3)
    # smaller steps end nearby; with damping another method with a tighter tolerance agrees, and it is slower
    assert abs(swimming(swim(system, step=0.0025))[1] - ahead) < 2e-3
    runs = [swim(build(0.01), 3.0, **o) for o in ({"step": 0.01}, {"method": "bdf", "rtol": 1e-5, "atol": 1e-6})]
    assert np.abs(runs[0].positions("head") - runs[1].positions("head")).max() < 1e-3
    assert np.abs(root_torque(runs[0]) - root_torque(runs[1])).max() < 0.02


if __name__ == "__main__":
    main()
    check()
