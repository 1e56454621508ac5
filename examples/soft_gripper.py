"""A soft gripper that lifts a ball and a barrel, shakes them and holds them by friction alone.

Silicone fingers hang from a wrist, each with a tendon on its inner side. They close on an object that stands on the floor (the barrel is a mesh of triangles), without
reaching below it: what lifts it is friction that sticks. The wrist goes up by 10 cm and shakes to and fro. Then everything rests, and statics takes over from
the motion with what the contacts remember: an equilibrium in which the forces of the fingers on the object are its weight, and from which nothing creeps.
Without friction the object stays on the floor.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import legend, panels


def barrel(sides: int = 16, rings: int = 9) -> pl.Mesh:
    """A barrel 6 cm high, as a mesh of triangles."""
    z, angle = np.linspace(-0.03, 0.03, rings), 2 * np.pi * np.arange(sides) / sides
    r = 0.022 + 0.006 * np.cos(np.pi * z / 0.06)
    side = [(a * np.cos(b), a * np.sin(b), c) for a, c in zip(r, z) for b in angle]
    k, turn = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = [np.column_stack([k + i, turn + i, turn + i + sides]) for i in sides * np.arange(rings - 1)]
    faces += [np.column_stack([k + i, turn + i + sides, k + i + sides]) for i in sides * np.arange(rings - 1)]
    n, top = len(side), sides * (rings - 1)
    ends = [np.column_stack([turn, k, 0 * k + n]), np.column_stack([k + top, turn + top, 0 * k + n + 1])]
    return pl.Mesh([*side, (0, 0, -0.03), (0, 0, 0.03)], np.vstack(faces + ends))


OBJECTS = {"ball": (pl.Sphere(0.03), 3), "barrel": (barrel(), 4)}  # shapes, fingers
MASS, TENSION, RISE = 0.1, 15.0, 0.1  # kg, N, m
# of the fingers: length, radius, distance from the middle, of the tendons from their axes [m]
LENGTH, THICK, AWAY, LEVER = 0.1, 0.01, 0.044, 0.008
FRICTION = 0.6
RUBBER = pl.Material(young=2e6, poisson=0.45, density=1100, viscosity=2e4)


def build(name: str, friction: float = FRICTION) -> pl.System:
    """The gripper above one of the objects."""
    shape, fingers = OBJECTS[name]
    robot = pl.Robot(f"soft gripper and {name}")
    mast = robot.add_body(
        "mast", offset=(0, 0, 0.13), joint=pl.Prismatic("z"), mass=0.3, shape=pl.Cylinder(0.01, 0.04, "z")
    )
    wrist = robot.add_body("wrist", parent=mast, joint=pl.Prismatic("x"), mass=0.1, shape=pl.Cylinder(0.06, 0.01, "z"))
    robot.add_motion("lift", mast)
    robot.add_motion("shake", wrist)
    thing = robot.add_body("object", offset=(0, 0, 0.03), joint=pl.Free(), shape=shape, mass=MASS)
    robot.add_obstacle("floor", pl.HalfSpace())
    robot.add_contact("stand", thing, "floor", stiffness=1e5, damping=5.0, friction=0.5)
    for k in range(fingers):
        place = pl.rotate("z", 2 * np.pi * k / fingers) @ pl.translate(AWAY, 0, 0) @ pl.rotate("y", np.pi / 2)
        finger = robot.add_rod(
            f"finger {k}", parent=wrist, offset=place, length=LENGTH, section=pl.Circle(THICK), material=RUBBER,
            strains=pl.Strains(bending=3, torsion=1), points=16,
        )  # fmt: skip
        robot.add_tendon(f"tendon {k}", finger, z=-LEVER)
        robot.add_contact(f"grip {k}", finger, thing, stiffness=3e4, damping=5.0, friction=friction)
    return robot.compile()


def smooth(x: float) -> float:
    """From 0 at x = 0 to 1 at x = 1."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


def shake(t: float) -> float:
    return 0.005 * np.sin(4 * np.pi * (t - 1.4)) * smooth((t - 1.4) / 0.2) * smooth((2.6 - t) / 0.2)


def grasp(system: pl.System, duration: float = 3.5) -> pl.Result:
    """Close within 0.5 s, lift, shake, rest."""
    tensions = {name: lambda t: TENSION * smooth(t / 0.5) for name in system.input_names}
    motion = {"lift": lambda t: RISE * smooth((t - 0.6) / 0.6), "shake": shake}
    return pl.simulate(
        system, duration, u=tensions, motion=motion, breaks=[0.5, 0.6, 1.2, 1.4, 1.6, 2.4, 2.6], output=0.01
    )


def rest(run: pl.Result) -> pl.Equilibrium:
    """Where it ends, at rest."""
    tensions = dict.fromkeys(run.system.input_names, TENSION)
    return pl.solve_statics(run.system, tensions, motion={"lift": RISE, "shake": 0.0}, start=run)


def hold(held: pl.Equilibrium, duration: float = 5.0) -> float:
    """How far the object moves from an equilibrium [m]."""
    motion = {"lift": RISE, "shake": 0.0}
    x = pl.simulate(held.system, duration, u=held.u, motion=motion, start=held).positions("object")
    return float(np.abs(x - x[0]).max())


def figures(run: pl.Result) -> dict[str, object]:
    shapes, axes = panels(1, 3, size=(8, 3.4))
    for ax, t in zip(axes, (0.0, 0.6, 1.2)):
        run.plot_snapshots(np.array([t]), view="xz", ax=ax)
        ax.set(title=f"{t:.1f} s", xlim=(-0.08, 0.08), ylim=(0, 0.26), adjustable="box")
    motion, (ax, below) = panels(2, 1, size=(6, 5))
    for part in ("wrist", "object"):
        x = run.positions(part)
        ax.plot(run.t, 1e3 * (x[:, 2] - x[0, 2]), label=part)
        below.plot(run.t, 1e3 * x[:, 0], label=part)
    ax.set(ylabel="rise [mm]")
    below.set(xlabel="t [s]", ylabel="x [mm]")
    legend(ax)
    return {"shapes": shapes, "motion": motion, "forces": run.plot_contacts()}


def main(figures_dir: str | None = None) -> None:
    for name in OBJECTS:
        run = grasp(build(name))
        held = rest(run)
        x = run.positions("object")
        pinch = held.contacts.normal_force.sum()
        print(f"{run}\n{held}")
        print(f"{name}: lifted by {1e3 * (x[-1, 2] - x[0, 2]):.3f} mm; the fingers press with {pinch:.2f} N in all")
        carried = held.contacts.force_on("object")[2]
        print(f"  they carry {carried:.9f} N of {MASS * 9.81:.9f} N; in 5 s it creeps by {1e9 * hold(held):.3g} nm")
        loose = grasp(build(name, friction=0.0)).positions("object")[-1, 2]
        print(f"  without friction it is left at {1e3 * loose:.1f} mm")
    gallery.save(figures_dir, figures, run)


def check() -> None:
    for name in OBJECTS:
        system = build(name)
        run = grasp(system)
        assert run.success, run.message
        x, wrist = run.positions("object"), run.positions("wrist")
        # lifted with the wrist, and shaken with it
        assert abs(x[-1, 2] - x[0, 2] - RISE) < 2e-3
        shaken = run.t > 1.4
        assert np.abs((x - wrist)[shaken, 0]).max() < 2e-3 < np.ptp(x[shaken, 0]) / 4
        # an equilibrium near the end of the motion, in which the fingers carry the weight, within the cone of friction
        held = rest(run)
        assert held.success, held.message
        assert held.stability == "stable"
        assert np.abs(system.pose("object", held.q)[:3, 3] - x[-1]).max() < 1e-5
        np.testing.assert_allclose(held.contacts.force_on("object"), [0, 0, MASS * 9.81], atol=1e-8)
        contacts = held.contacts
        ratio = np.linalg.norm(contacts.friction, axis=1) / contacts.normal_force
        assert 0 < ratio.max() <= FRICTION * (1 + 1e-12)
        # nothing creeps, and without friction nothing is lifted
        assert hold(held) < 1e-7
        assert grasp(build(name, friction=0.0), 1.4).positions("object")[-1, 2] < 0.05


if __name__ == "__main__":
    main()
    check()
