"""The fin-ray finger of [002] section 5.2: 17 soft links, 74 dof, six loop joints, one base driven by a slider.

Two side walls of six links each stand on the slider and on the ground and meet in a fixed joint at the top; five ribs turn
on pins at both walls. One pin of each rib belongs to the tree, the other five and the top are loop joints. The paper gives
the sections (1 mm thick, walls 25 mm and ribs 10 mm wide), walls of 30 mm per link, ABS with E = 2 GPa and ν = 0.35, linear
bending, constant stretch and shear. Where it is silent, this is assumed: 60 mm between the bases, ribs level, a density of
1050 kg/m³, a viscosity of 10 kPa s (next to no damping), gravity along the finger, and a slider that moves by up to 10 mm
along the finger, with a period of 2.5 s (a figure in the paper). "sudden" starts it with a jump of its velocity, after
which the finger rings at 28 Hz. A finger with longer ribs, which must be bent to be mounted, is tried too.

All is planar, so 18 of the 31 constraints hold by themselves; they are found and carry no force. The authors report 69 s
for ten seconds of motion (Newmark, step 0.01 s) and 994 s with ode15s.
"""

import numpy as np

import pliant as pl
from pliant import gallery

LINKS, WALL, SPAN = 6, 0.03, 0.06  # links per wall, their length, distance of the bases [m]
STROKE, PACE = 0.01, 0.8 * np.pi  # m, rad/s
LEAN = np.arcsin(SPAN / 2 / (LINKS * WALL))  # of the walls
QUICK = False  # half a minute


def build(rib: float = 1.0, points: int | None = None) -> pl.System:
    """The finger in the x-y plane; `rib` scales the length of the ribs, with 1 the unloaded finger fits together."""
    plastic = pl.Material(young=2e9, poisson=0.35, density=1050, viscosity=1e4)
    common = {"material": plastic, "strains": pl.Strains(bending_z=1, stretch=0, shear_y=0), "points": points}
    robot = pl.Robot("fin-ray finger", gravity=(0, -9.81, 0))
    slider = robot.add_body("slider", offset=(-SPAN / 2, 0, 0), joint=pl.Prismatic("y"))
    robot.add_motion("slide", slider)
    bases = {
        "left": (slider, pl.rotate("z", np.pi / 2 - LEAN)),
        "right": (None, pl.translate(SPAN / 2, 0, 0) @ pl.rotate("z", np.pi / 2 + LEAN)),
    }
    nodes: dict[str, list[pl.Frame]] = {"left": [], "right": []}  # level with the ground while unloaded
    for side, (place, offset) in bases.items():
        level = pl.rotate("z", (LEAN if side == "left" else -LEAN) - np.pi / 2)
        for k in range(LINKS):
            section = pl.Rectangle(height=0.001, width=0.025)
            link = robot.add_rod(f"{side}{k}", parent=place, offset=offset, length=WALL, section=section, **common)
            place, offset = link.tip, None
            nodes[side].append(link.tip.at(level))
    common["section"] = pl.Rectangle(height=0.001, width=0.01)
    for k, (left, right) in enumerate(zip(nodes["left"][:-1], nodes["right"])):
        length = rib * SPAN * (1 - (k + 1) / LINKS)
        link = robot.add_rod(f"rib{k}", parent=left, joint=pl.Revolute("z"), length=length, **common)
        robot.add_loop(f"pin{k}", link.tip, right, joint=pl.Revolute("z"))
    robot.add_loop("top", nodes["left"][-1], nodes["right"][-1])
    robot.add_frame("tip", nodes["left"][-1])
    return robot.compile()


MOTIONS = {
    "smooth": pl.Motion(lambda t: STROKE * (1 - np.cos(PACE * t)) / 2, lambda t: STROKE * PACE * np.sin(PACE * t) / 2),
    "sudden": pl.Motion(lambda t: STROKE * np.sin(PACE * t) / 2, lambda t: STROKE * PACE * np.cos(PACE * t) / 2),
}


def run(system: pl.System, motion: str = "smooth", **options) -> pl.Result:
    """Ten seconds from rest, mounted first."""
    drive = {"slide": MOTIONS[motion]}
    return pl.simulate(system, 10.0, motion=drive, start=pl.solve_statics(system, motion=drive), **options)


def gap(result: pl.Result) -> float:
    """Largest closure error [m]."""
    return max(float(np.abs(result.system.closure(q)[0]).max()) for q in result.q)


def force(result: pl.Result) -> np.ndarray:  # on the slider [N]
    return result.prescribed_forces()["slide"][:, 0]


def tip_error(result: pl.Result, fine: pl.Result) -> float:
    """Largest distance of the tip from a run whose times contain those of this one [m]."""
    rows = np.searchsorted(fine.t, result.t - 1e-9)
    return float(np.linalg.norm(result.positions("tip") - fine.positions("tip")[rows], axis=1).max())


def report(label: str, result: pl.Result) -> None:
    f = force(result)
    print(f"{label:34}closure {gap(result):.1e} m, slider {f.min():.4f} to {f.max():.4f} N, {result.statistics}")


def figures(result: pl.Result) -> dict[str, object]:
    """Shapes, the tip, the force on the slider, and the force in the top joint."""
    shapes = {"snapshots": result.plot_snapshots([0, 0.5, 0.9, 1.25], view="xy")}
    forces = {"slider": result.plot_prescribed_forces(), "top": result.plot_multipliers("top", components="world")}
    return {**shapes, "tip": result.plot_trajectory("tip", components="xy"), **forces}


def main(figures_dir: str | None = None) -> None:
    system = build()
    for x in (0.0, STROKE, -STROKE):
        rest = pl.solve_statics(system, motion={"slide": x})
        place = 1e3 * system.pose("tip", rest.q)[:2, 3]
        print(f"slider at {1e3 * x:5.1f} mm: tip at ({place[0]:8.4f}, {place[1]:.4f}) mm")
    for motion in MOTIONS:
        report(f"{motion}, default", run(system, motion))
        for h in (0.01, 0.005, 0.0025):
            report(f"{motion}, step {h} s", run(system, motion, step=h, subdivide=True))
    tight = build(rib=1.05)
    mounted = pl.solve_statics(tight)
    print(f"ribs 5 % longer: {tight.elastic_energy(mounted.q):.6f} J after mounting")
    report("ribs 5 % longer, default", run(tight))
    gallery.save(figures_dir, figures, run(system, output=0.02))


def check() -> None:
    system = build()
    assert (system.nv, len(system.robot.loops)) == (74, 6)
    assert np.abs(system.closure(system.neutral())[0]).max() < 1e-15
    # a slider moved down is the mirror image of one moved up, and lower by as much
    up, down = (pl.solve_statics(system, motion={"slide": x}) for x in (STROKE, -STROKE))
    assert all(rest.success and rest.stable for rest in (up, down))
    x, y = system.pose("tip", up.q)[:2, 3]
    np.testing.assert_allclose(system.pose("tip", down.q)[:2, 3], [-x, y - STROKE], atol=1e-10)
    np.testing.assert_allclose([x, y], [0.0294282, 0.1794445], atol=2e-7)
    # the force that holds the slider is the slope of the potential energy
    zero, h = np.zeros(system.nv), 1e-5
    hold = system.residual(up.q, zero, zero, multipliers=up.multipliers)[system.known][0]
    near = [pl.solve_statics(system, motion={"slide": STROKE + s}, start=up).q for s in (h, -h)]
    energy = [system.elastic_energy(q) + system.gravitational_energy(q) for q in near]
    assert abs(hold - (energy[0] - energy[1]) / (2 * h)) < 1e-6 * abs(hold)
    # loops stay closed, two steps and the error-controlled run agree, the work of the slider is the energy
    default, coarse, fine = run(system), run(system, step=0.01), run(system, step=0.005)
    for result in (default, coarse, fine):
        assert result.success, result.message
        assert gap(result) < 1e-12
        assert abs(force(result).max() - 0.5174) < 5e-4
    assert tip_error(coarse, fine) < 1e-6
    assert np.abs(fine.resample(default.t).positions("tip") - default.positions("tip")).max() < 1e-6
    balance = fine.power_balance()
    assert np.abs(balance["imbalance"]).max() < 1e-4 * np.ptp(balance["energy"])
    # after a jump of the velocity the finger rings; longer ribs are mounted bent
    sudden = [run(system, "sudden", step=step) for step in (0.01, 0.005)]
    assert max(gap(result) for result in sudden) < 1e-12
    assert tip_error(*sudden) < 5e-5
    tight = build(rib=1.05)
    mounted = pl.solve_statics(tight)
    assert abs(tight.elastic_energy(mounted.q) - 2.0844e-3) < 1e-6
    assert gap(run(tight)) < 1e-12


if __name__ == "__main__":
    main()
    check()
