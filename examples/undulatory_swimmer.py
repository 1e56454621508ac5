"""The tendon-driven swimmer of [000] section X.D: a rigid head, an actuated rod and a passive rod, 1 m long together.

From the paper: elliptical sections, largest width 0.1 m, neutrally buoyant, bending stiffness 4.9 N m² (actuated) and 0.049
N m² (passive), two parallel tendons at ±0.05 m with tensions T0 + T1 sin(ωt ± π/2), T0 = T1 = 20 N, ω = 5π rad/s, five
Chebyshev modes of curvature per rod, 10 s in steps of 0.01 s, and Lighthill's large-amplitude elongated-body theory: the
added mass of the sections moves with them and leaves at the tail.

Made up, because the paper refers to another one for its geometry: head 0.2 m (half an ellipsoid), rods of 0.4 m each, the
half axes below with a blunt tail 0.08 m deep, friction along the body (0.01) and drag across it (1.1). No internal damping.
"""

import numpy as np

import pliant as pl

WATER, OMEGA, ARM = 1000.0, 5 * np.pi, 0.05  # ARM: of the tendons [m]
HEAD = 0.2  # length of the head [m]; its frame is where the actuated rod starts, so the head lies at −HEAD < x < 0
NECK, WAIST, TAIL = (0.05, 0.06), (0.03, 0.06), (0.005, 0.04)  # half axes along y (lateral) and z [m]
FRICTION, ACROSS = 0.01, 1.1
DAMPING = 0.002  # internal damping over stiffness [s]


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


def build() -> pl.System:
    robot = pl.Robot("undulatory swimmer", gravity=(0, 0, -9.81))
    robot.set_fluid(density=WATER)
    flow, volume = head()
    skull = robot.add_body("head", joint=pl.Free(), inertia=pl.Inertia.from_matrix(flow["inertia"]))
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
            damping=EI * DAMPING * np.ones(6),
            strains=pl.Strains(bending_z=4, basis="chebyshev"),
        )
        robot.add_hydrodynamics(rod, pl.Hydrodynamics.elliptic(FRICTION, ACROSS, ACROSS, tail=name == "passive"))
        parent = rod
    robot.add_tendon("left", "actuated", y=ARM)
    robot.add_tendon("right", "actuated", y=-ARM)
    return robot.compile()


def tensions(t):
    return {"left": 20 + 20 * np.sin(OMEGA * t + np.pi / 2), "right": 20 + 20 * np.sin(OMEGA * t - np.pi / 2)}


def swim(system, duration=10.0, **options):
    return pl.simulate(system, duration, u=tensions, **options)


def swimming(run):
    """Mean velocity of the centre of mass over the last ten beats [m/s], and of it the part towards the head."""
    n = round(10 * 2 * np.pi / OMEGA / (run.t[1] - run.t[0]))
    centre = np.array([run.system.center_of_mass(q) for q in run.q[[-1 - n, -1]]])
    velocity = (centre[1] - centre[0]) / (run.t[-1] - run.t[-1 - n])
    forward = -run.poses("head")[-n:, :3, 0].mean(axis=0)  # the head lies towards −x of its frame
    return velocity, float(velocity @ forward / np.linalg.norm(forward))


def root_torque(run):
    """Elastic torque about z at the root of the third body [N m], (nt,)."""
    return np.array([run.system.stress("passive", q, [0.0])[0, 2] for q in run.q])


def main():
    system = build()
    print(system, "\n")
    run = swim(system, step=0.01)
    print(run)
    velocity, ahead = swimming(run)
    print(f"  swims with {np.linalg.norm(velocity):.3f} m/s, {ahead:.3f} m/s of it head first;")
    print(f"  {ahead * 2 * np.pi / OMEGA:.3f} m, or body lengths, per beat of {2 * np.pi / OMEGA:.1f} s")
    torque = root_torque(run)
    print(
        f"  torque at the root of the passive rod, first 3 s (tendons: 2 cos ωt N m): largest {np.abs(torque[:301]).max():.4f} N m"
    )
    for k in range(0, 301, 20):
        print(f"    t = {run.t[k]:.1f} s {torque[k]:9.4f} N m")


def check():
    pass


if __name__ == "__main__":
    main()
    check()
