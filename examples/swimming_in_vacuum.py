"""A beam that bends itself in free space: test 6 of [004] (eq. 63–65).

Free at both ends and without gravity, an elastic beam of 1 m carries waves of internal moment,
Λ(X, t) = f(t) a sin 2π(X/λ − t/T) about its y and z axes, as muscles would make them. It wriggles, but what it does to
itself cannot move its centre of mass or give it angular momentum: the paper finds both below 1e-3 for two seconds.

A wave is two fixed patterns along the beam, sin 2πX/λ and cos 2πX/λ, each scaled by an input of its own. `MOTION` comes
from an independent program in world coordinates (6 digits); the paper prints no coordinates. Its diameter is read as a
radius, as the other tests need it, and the beam starts at rest.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.style import panels

YOUNG, RADIUS, DAMPING = 1e8, 0.01, 1e-3  # Pa, m, s
EI = YOUNG * np.pi * RADIUS**4 / 4
AMPLITUDE, RISE = 0.2, 0.25  # N m, s
WAVES = {"y": (1.0, 1.0), "z": (0.5, 0.25)}  # axis: wavelength [m], period [s]
MOTION = {  # t: both ends [m], curvatures about y and z at X = 0, 1/2, 1 [rad/m]
    0.3: (
        (0.000158, -0.003784, 0.003984, 0.999839, -0.001940, 0.006068),
        (0.433895, -0.155638, 0.289094, 0.059132, -0.082400, 0.142501),
    ),
    0.9: (
        (0.000121, 0.003302, -0.000523, 0.999825, -0.000501, -0.006842),
        (-0.424364, 0.111112, -0.032683, 0.045305, 0.038608, -0.161193),
    ),
    1.5: (
        (0.000121, -0.000001, -0.004348, 0.999855, 0.003197, 0.004199),
        (0.244916, 0.003594, -0.242510, -0.133976, 0.025914, 0.116256),
    ),
    2.0: (
        (0.000125, 0.000076, 0.004501, 0.999854, 0.003567, -0.003931),
        (-0.244162, -0.006384, 0.243224, -0.134902, 0.029340, 0.115382),
    ),
}


def build() -> pl.System:
    robot = pl.Robot("swimmer", gravity=(0, 0, 0))
    beam = robot.add_rod(
        "beam",
        joint=pl.Free(),
        length=1.0,
        section=pl.Circle(radius=RADIUS),
        material=pl.Material(young=YOUNG, poisson=0.5, density=1000),
        damping=(0, DAMPING * EI, DAMPING * EI, 0, 0, 0),
        strains=pl.Strains(bending=pl.Chebyshev(2)),  # three functions for each curvature
        points=24,
    )
    for axis, (wavelength, _period) in WAVES.items():
        for name, pattern in (("sin", np.sin), ("cos", np.cos)):
            unit = np.eye(6)["xyz".index(axis)]
            robot.add_stress(
                f"{name}_{axis}", beam, lambda X, p=pattern, e=unit, w=wavelength: p(2 * np.pi * X / w) * e
            )
    return robot.compile()


def inputs(t: float) -> dict[str, float]:
    """sin(kX − ωt) = cos ωt sin kX − sin ωt cos kX, and the paper's sign: at rest, the curvature is −Λ/EI."""
    s = min(t / RISE, 1.0)
    strength = AMPLITUDE * (s - np.sin(2 * np.pi * s) / (2 * np.pi))
    u = {}
    for axis, (_wavelength, period) in WAVES.items():
        u[f"sin_{axis}"] = -strength * np.cos(2 * np.pi * t / period)
        u[f"cos_{axis}"] = strength * np.sin(2 * np.pi * t / period)
    return u


def swim(**options: object) -> pl.Result:
    return pl.simulate(build(), 2.0, u=inputs, output=0.05, max_step=0.02, **options)


def drift(result: pl.Result) -> tuple[float, float, float]:
    """Largest momentum [kg m/s], angular momentum [kg m²/s] and way of the centre of mass [m]."""
    L, p = result.momenta()
    com = np.array([result.system.center_of_mass(q) for q in result.q]) - [0.5, 0, 0]
    return tuple(float(np.linalg.norm(x, axis=1).max()) for x in (p, L, com))


def difference(result: pl.Result) -> tuple[float, float]:
    """Largest differences from `MOTION`: ends [m], curvatures [rad/m]."""
    ends, curvatures = [], []
    for t, (positions, K) in MOTION.items():
        q = result.q[int(np.argmin(np.abs(result.t - t)))]
        X = [0.0, 0.5, 1.0]
        ends.append(result.system.rod_poses("beam", q, X)[[0, 2], :3, 3].ravel() - positions)
        curvatures.append(result.system.strain("beam", q, X)[:, 1:3].T.ravel() - K)
    return float(np.abs(ends).max()), float(np.abs(curvatures).max())


def figures(result: pl.Result) -> dict[str, object]:
    """Figures 14 and 15 of the paper: snapshots and both curvatures every 0.3 s."""
    times = np.arange(0, 2.01, 0.3)
    figure, axes = panels(1, 2, size=(9, 3.4))
    for ax, strain in zip(axes, ("bending_y", "bending_z")):
        result.plot_strains(strain, times=times, ax=ax)
    return {"curvatures": figure, "snapshots": result.plot_snapshots(times)}


METHODS = {
    "default tolerance": {},
    "rtol 1e-5": {"rtol": 1e-5, "atol": 1e-6},
    "newmark, step 0.001 s": {"method": "newmark", "step": 0.001},
    "bdf, rtol 1e-8": {"method": "bdf", "rtol": 1e-8, "atol": 1e-9},
    "dop853, rtol 1e-7": {"method": "dop853", "rtol": 1e-7, "atol": 1e-7},
}


def main(figures_dir: str | None = None) -> None:
    swim()  # loads the compiled kernels, so that they do not count below
    print("2 s of motion                largest                        difference from the reference")
    print("                        momentum  ang. mom.  com [m]   ends [m]  curvature [1/m]   steps   time [s]")
    for name, options in METHODS.items():
        result = swim(**options)
        s = result.statistics
        print(
            f"{name:22}"
            + "".join(f"{x:10.1e}" for x in (*drift(result), *difference(result)))
            + f"{s.steps:15}{s.wall_time:11.4f}"
        )
    tip = result.positions("beam.tip")
    print(f"the tip moves {1e3 * np.ptp(tip[:, 1]):.1f} mm along y and {1e3 * np.ptp(tip[:, 2]):.1f} mm along z")
    gallery.save(figures_dir, figures, result)


def check() -> None:
    """Nothing moves the centre of mass; shapes agree with the independent program to its last digit."""
    result = swim(method="dop853", rtol=1e-7, atol=1e-7)
    assert max(drift(result)) < 1e-8
    assert max(difference(result)) < 1e-6
    assert max(drift(swim())) < 1e-3  # the paper's limit, with the default tolerance
    # the same forces, given as generalised forces instead of inputs
    system = build()
    wave = system.stress_forces("beam", lambda X: (0, np.sin(2 * np.pi * X), 0, 0, 0, 0))
    B = system.actuation_matrix(system.neutral())
    np.testing.assert_allclose(B[:, system.input_names.index("sin_y")], wave, atol=1e-15)


if __name__ == "__main__":
    main()
    check()
