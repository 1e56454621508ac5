"""A pneumatic arm fills through a valve and bends; with the valve closed it is stiffer than at a regulated pressure.

A silicone arm has a bellows along one side, connected to 30 ml of tubing. At first a supply of 150 kPa fills it through a valve that chokes (ISO 6358): the pressure rises at a constant rate while the
flow is choked, then ever more slowly, and the arm swings up. Behind a linear valve of the same conductance it takes longer.

Then the gas is sealed. Pushed at its tip the arm squeezes its gas, which answers by Boyle's law; a regulator would keep the pressure. Both have the same equilibrium,
but the sealed arm gives less.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.model.gas import ATMOSPHERE, NORMAL
from pliant.viz.style import legend, panels

AREA, OFFSET, TUBING = 4e-4, -0.014, 30e-6  # m², m, m³
CONDUCTANCE, CRITICAL, SUPPLY = 4e-9, 0.5, 150e3  # m³/(s Pa), –, Pa
SEALED = 30e3  # Pa in the straight arm


def build(kind: str) -> pl.System:
    """The arm with gas behind a valve ("choked" or "linear"), sealed gas, or a regulated pressure."""
    robot = pl.Robot(f"pneumatic arm, {kind}")
    arm = robot.add_rod(
        "arm",
        length=0.3,
        section=pl.Circle(0.02),
        material=pl.Material(young=0.25e6, poisson=0.49, density=1070, viscosity=2e3),
        strains=pl.Strains(bending_y=3, stretch=1),
    )
    valve = {"supply": "valve", "conductance": CONDUCTANCE}
    options = {"choked": {**valve, "critical": CRITICAL}, "linear": valve, "sealed": {"pressure": SEALED}}
    if kind == "regulated":
        robot.add_chamber("bellows", arm, area=AREA, z=OFFSET)
    else:
        line = pl.Along("arm", z=OFFSET)
        robot.add_load("bellows", pl.Gas(line, area=AREA, dead_volume=TUBING, **options[kind]))
    robot.add_wrench("push", arm.tip, force=(0, 0, -1))
    return robot.compile()


def fill(kind: str) -> tuple[pl.Result, np.ndarray]:
    """The arm from rest, and the gauge pressure of its gas [Pa]."""
    system = build(kind)
    start = pl.solve_statics(system)  # hanging under its weight, the gas at the pressure of the room
    run = pl.simulate(system, 1.5, start=start, u={"bellows": SUPPLY}, max_step=0.01, output=0.005)
    if not run.success:
        raise RuntimeError(run.message)
    return run, np.array([system.gases(q, memory=z)["bellows"].pressure for q, z in zip(run.q, run.memory)])


def give() -> dict[str, float]:
    """How far the tip goes down for each newton [m/N]: sealed, regulated to the same pressure, and what Boyle's law says of the sealed one."""
    sealed, regulated = build("sealed"), build("regulated")
    rest = pl.solve_statics(sealed)
    gas = sealed.gases(rest.q)["bellows"]
    same = pl.solve_statics(regulated, {"bellows": gas.pressure}, start=rest.q)
    np.testing.assert_allclose(same.q, rest.q, atol=1e-8)
    column = sealed.input_names.index("push")
    out = {"sealed": -pl.static_jacobian(sealed, rest, "arm.tip")[5, column]}
    column = regulated.input_names.index("push")
    out["regulated"] = -pl.static_jacobian(regulated, same, "arm.tip")[5, column]
    # K + (p/V) g gᵀ with g = ∂V/∂q
    zero, u = np.zeros(regulated.nv), regulated.inputs({"bellows": gas.pressure})
    K = regulated.residual_tangent(rest.q, zero, zero, u, weights=(1, 0, 0))
    K = K + (gas.pressure + ATMOSPHERE) / gas.volume * np.outer(gas.slope, gas.slope)
    down = -regulated.jacobian("arm.tip", rest.q, reference="world")[5]
    return {**out, "Boyle": float(down @ np.linalg.solve(K, down))}


def figures(found: dict[str, tuple[pl.Result, np.ndarray]]) -> dict[str, object]:
    """Pressure and height of the tip over time, and the arm."""
    figure, axes = panels(2, 1, size=(6, 5))
    for name, (run, pressure) in found.items():
        axes[0].plot(run.t, pressure / 1e3, label=f"{name} valve")
        axes[1].plot(run.t, run.positions("arm.tip")[:, 2], label=name)
    axes[0].set(xlabel="t [s]", ylabel="gauge pressure [kPa]")
    axes[1].set(xlabel="t [s]", ylabel="height of the tip [m]")
    legend(axes[0])
    return {"filling": figure, "snapshots": found["choked"][0].plot_snapshots([0, 0.2, 0.5, 1.5], view="xz")}


def main(figures_dir: str | None = None) -> None:
    found = {kind: fill(kind) for kind in ("choked", "linear")}
    for kind, (run, pressure) in found.items():
        k = int(np.argmax(pressure > 0.9 * SUPPLY)) if pressure[-1] > 0.9 * SUPPLY else len(run.t) - 1
        height = run.positions("arm.tip")[-1, 2]
        print(f"{kind} valve: {pressure[k] / 1e3:.0f} kPa after {run.t[k]:.2f} s, tip at {height:.3f} m")
    for name, value in give().items():
        print(f"{name:>9}: {1000 * value:.2f} mm/N")
    gallery.save(figures_dir, figures, found)


def check() -> None:
    """Choked flow, the equilibrium behind the valve, and Boyle's stiffness."""
    run, pressure = fill("choked")
    system = run.system
    # the amount of gas rises by p_N C p₁ each second while p₂ < b p₁
    choked = pressure + ATMOSPHERE < CRITICAL * (SUPPLY + ATMOSPHERE)
    assert choked.sum() > 4
    rate = np.diff(run.memory[choked, 0]) / np.diff(run.t[choked])
    np.testing.assert_allclose(rate, NORMAL * CONDUCTANCE * (SUPPLY + ATMOSPHERE), rtol=1e-5)
    linear = fill("linear")[1]
    assert np.all(linear[10:160] < pressure[10:160])
    rest = pl.solve_statics(system, {"bellows": SUPPLY}, start=run.q[-1])
    assert abs(system.gases(rest.q, memory=rest.memory)["bellows"].pressure - SUPPLY) < 1.0
    found = give()
    assert abs(found["sealed"] - found["Boyle"]) < 1e-9 * found["Boyle"]
    assert found["sealed"] < 0.95 * found["regulated"]


if __name__ == "__main__":
    main()
    check()
