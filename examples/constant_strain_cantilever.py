"""The cantilever of [001] section IV.C with 1 to 10 sections of constant strain, against the continuous rod.

A soft cylinder, clamped and straight, is loaded across its tip: 10 mN, reached in 1 s, then constant, for 10 s. There is no
gravity (the weight is 154 times the load). All six strains are free. The continuous rod is one with Legendre strains of
high order. As in Fig. 6 of the paper, the error is the time mean of the distance of the tips over the length.

The paper integrates with Dormand and Prince's method (here "rk45") and the composite-body (`solver="dense"`) or the
articulated-body algorithm (`solver="tree"`). Its step is limited by stability, not by accuracy: by the viscosity of
shear and of bending, to 3.3/|λ| with λ the fastest eigenvalue. The implicit default has no such limit.
More in docs/constant_strain.md.
"""

import numpy as np

import pliant as pl

LENGTH, RADIUS, FORCE, DURATION = 0.25, 0.01, 0.01, 10.0
SILICONE = pl.Material(young=110e3, poisson=0.0, density=2000, viscosity=300)
STABLE = 3.307  # of Dormand and Prince's method, on the negative real axis
SECTIONS = tuple(range(1, 11))


def build(strains: pl.Strains) -> pl.System:
    robot = pl.Robot("cantilever", gravity=(0, 0, 0))
    rod = robot.add_rod("rod", length=LENGTH, section=pl.Circle(RADIUS), material=SILICONE, strains=strains)
    robot.add_wrench("load", rod.tip, force=(0, FORCE, 0))
    return robot.compile()


def sections(count: int) -> pl.System:
    """So many sections of equal length, each with six constant strains."""
    return build(pl.Strains.reissner(pl.PiecewiseConstant(count)))


def continuous(order: int = 9) -> pl.System:
    return build(pl.Strains.reissner(order))


def ramp(t: float) -> dict[str, float]:
    return {"load": min(t, 1.0)}


def move(system: pl.System, duration: float = DURATION, **options: object) -> pl.Result:
    """Constant steps unless told otherwise: their error, 4e-5 of the length, is nearly the same for all models."""
    options = options or {"step": 0.01}
    return pl.simulate(system, duration, u=ramp, output=0.05, **options)


def tip_error(run: pl.Result, exact: np.ndarray) -> float:
    """Time mean of the distance of the tip from its exact places (nt, 3), over the length, as in [001] Fig. 6."""
    return float(np.linalg.norm(run.positions("rod.tip") - exact, axis=1).mean() / LENGTH)


def first_frequency(system: pl.System) -> float:
    """Of bending about the straight rod [Hz]."""
    return float(pl.modes(system, system.neutral()).frequencies[0])


def stable_steps(system: pl.System) -> float:
    """Steps that the stability of Dormand and Prince's method takes for the run."""
    return float(DURATION * np.abs(pl.modes(system, system.neutral()).eigenvalues).max() / STABLE)


def explicit(system: pl.System, solver: str, duration: float = 0.05) -> tuple[float, float, pl.Result]:
    """Steps for the whole run, extrapolated from the second half of a short one; seconds per step; the short run."""
    run = pl.simulate(system, duration, u=ramp, method="rk45", solver=solver)
    half = run.t[run.t >= 0.5 * duration]
    rate = (len(half) - 1) / (half[-1] - half[0])
    return DURATION * rate, run.statistics.wall_time / run.statistics.steps, run


def main(figure: str | None = None) -> None:
    rod = move(continuous())
    exact = rod.positions("rod.tip")
    for order in (3, 5, 7):
        print(f"continuous rod, order {order} against 9: {tip_error(move(continuous(order)), exact):.1e} of the length")
    f = first_frequency(rod.system)
    print(f"first frequency {f:.4f} Hz; tip after 10 s at {exact[-1].round(5)} m\n")
    print(f"{'':21}|{'accurate':^17}|{'default tolerances':^26}|{'explicit, Dormand-Prince':^42}")
    print(
        f"{'sections  dof    f/f∞':21}|{'error':>8}{'order':>9}|{'error':>8}{'steps':>7}{'time [s]':>11}|"
        f"{'steps':>7}{'3.3/|λ|':>9}{'µs/step dense':>15}{'tree':>9}"
    )
    runs, errors = {}, {}
    for n in SECTIONS:
        system = sections(n)
        runs[n], rough = move(system), move(system, rtol=1e-3)
        errors[n] = tip_error(runs[n], exact)
        order = np.log(errors[n - 1] / errors[n]) / np.log(n / (n - 1)) if n > 1 else np.nan
        duration = 1.0 if n == 1 else 0.05
        (steps, dense, _), (_, tree, _) = (explicit(system, solver, duration) for solver in ("dense", "tree"))
        print(
            f"{n:8d}{system.nv:5d}{first_frequency(system) / f:8.4f}|{errors[n]:8.2%}{order:9.2f}|"
            f"{tip_error(rough, exact):8.2%}{rough.statistics.steps:7d}{rough.statistics.wall_time:11.3f}|"
            f"{steps:7.0f}{stable_steps(system):9.0f}{1e6 * dense:15.0f}{1e6 * tree:9.0f}"
        )
    print("the paper: error below 5 %, 24150 steps of 0.41 ms with 10 sections; its continuous model 242087")
    if figure:
        print("figure:", plot(runs, rod, figure))


def plot(runs: dict[int, pl.Result], rod: pl.Result, path: str) -> str:
    """Deflection of the tip and curvature of the first section, as [001] Fig. 5."""
    import matplotlib.pyplot as plt

    picture, (tip, bend) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
    for label, run in {"continuous": rod, **{f"{n}": runs[n] for n in (1, 2, 5, 10)}}.items():
        place = 0.0 if label == "continuous" else 0.5 / int(label)
        tip.plot(run.t, 1e3 * run.positions("rod.tip")[:, 1], label=label, color="k" if place == 0.0 else None)
        curvature = [run.system.strain("rod", q, [place])[0, 2] for q in run.q]
        bend.plot(run.t, curvature, color="k" if place == 0.0 else None)
    tip.set(ylabel="tip y [mm]")
    bend.set(ylabel="first curvature [1/m]", xlabel="t [s]")
    picture.legend(title="sections", ncols=5, loc="outside upper center")
    picture.savefig(path, dpi=100)
    plt.close(picture)
    return path


def check() -> None:
    rod = move(continuous())
    exact = rod.positions("rod.tip")
    assert tip_error(move(continuous(5)), exact) < 2e-6  # a converged reference
    # the error is of second order in the number of sections, and below 5 % from two on
    expected = {1: 0.1215, 2: 0.0494, 4: 0.0124, 8: 0.0031, 10: 0.0020}
    for n, error in expected.items():
        assert abs(tip_error(move(sections(n)), exact) - error) < 1e-4 + 0.01 * error, n
    # one section bends like x²: ω² = 20 EI/ρAL⁴, where the continuous rod has 1.8751⁴, both a bit lower by shear
    f = first_frequency(rod.system)
    slender = np.sqrt(110e3 * RADIUS**2 / 4 / 2000) / LENGTH**2 / (2 * np.pi)
    assert abs(first_frequency(sections(1)) / (np.sqrt(20) * slender) - 1) < 0.006
    assert abs(f / (1.8751041**2 * slender) - 1) < 0.006
    assert abs(first_frequency(sections(1)) / f - 1.2699) < 1e-3
    # both algorithms take the same explicit steps, as many as stability asks for, and find the same motion
    for n, paper in ((3, None), (10, 24150)):
        system = sections(n)
        (steps, _, dense), (_, _, tree) = (explicit(system, solver) for solver in ("dense", "tree"))
        assert abs(steps / stable_steps(system) - 1) < 0.03
        assert paper is None or abs(steps / paper - 1) < 0.1
        assert dense.statistics.steps == tree.statistics.steps
        np.testing.assert_allclose(dense.q, tree.q, atol=1e-9)
        implicit = pl.simulate(system, 0.05, u=ramp, step=2.5e-4, output=dense.t)
        tips = [run.positions("rod.tip") for run in (implicit, dense)]
        assert np.abs(tips[0] - tips[1]).max() < 1e-3 * np.ptp(tips[1][:, 1])
    assert move(sections(10), rtol=1e-3).statistics.steps < 120  # implicit, default tolerances


if __name__ == "__main__":
    main("constant_strain_cantilever.png")
    check()
