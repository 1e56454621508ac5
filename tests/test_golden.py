"""Numbers of another program: poses, Jacobians, dynamics and statics of three robots.

The files in ``tests/data`` were computed with SoRoSim (github.com/SoRoSim/SoRoSim, main@24d573a) under GNU Octave 7.3;
they are numbers only. Its angular strain coordinates are multiplied by the rod length, so its coordinates are
``q_golden = q / scale`` with scale = 1/L on them and 1 elsewhere; Jacobians, forces and matrices change accordingly.
A negative cable input is a pull there. Its exponential is truncated below 0.01 rad per step, hence rtol 1e-7 where a
step of the golden state is that small.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pliant as pl

RTOL = 1e-7
EXACT = 1e-11  # no small step
NAMES = ["cantilever_legendre3", "hybrid_serial", "paper_cable_driven_manipulator"]
RADII = {"cantilever_legendre3": (0.02, 0.01), "hybrid_serial": (0.02, 0.01)}
RADII["paper_cable_driven_manipulator"] = (0.03, 0.015)


@dataclass(frozen=True)
class Golden:
    """A golden file with the same robot in pliant."""

    data: dict
    links: list[pl.Link]
    system: pl.System
    scale: np.ndarray  # q = scale * q_golden

    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return tuple(self.scale * self[name] for name in ("q", "qd", "qdd"))

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array(self.data[name], dtype=float)

    @property
    def rtol(self) -> float:
        return EXACT if self.system.name == "cantilever_legendre3" else RTOL

    def covector(self, tau: np.ndarray) -> np.ndarray:
        """Generalised forces in the golden coordinates."""
        return self.scale * tau

    def form(self, A: np.ndarray) -> np.ndarray:
        """A bilinear form (mass, stiffness, derivative of a force) in the golden coordinates."""
        return self.scale[:, None] * A * self.scale

    def frames(self) -> list[pl.Frame]:
        """Frames of the computational points, in the order of the file."""
        out = []
        for point in self.data["points"]:
            link, model = self.links[point["link"] - 1], self.data["model"][point["link"] - 1]
            if point["kind"] == "rod_point":
                X = self.system.rod_points(link.name)
                out.append(link.at(float(X[np.argmin(np.abs(X - point["X"]))])))
            elif point["kind"] == "rigid_cm":
                out.append(link.at((model["cx"], 0, 0)))
            else:
                assert point["kind"] == "joint_X1"
                out.append(link.base if link.is_rod else link.frame)
        return out


def joint_of(entry: dict) -> pl.Joint:
    if entry["joint"] == "N":
        return pl.Fixed()
    assert entry["joint"] == "R"
    return pl.Revolute(entry["joint_basis_columns"][0][:3])


@cache
def load(name: str) -> Golden:
    data = json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text())
    robot = pl.Robot(name, gravity=(0, 0, -9.81))
    links: list[pl.Link] = []
    scale: list[float] = []
    for entry in data["model"]:
        parent = None
        if entry["previous"]:
            before = links[entry["previous"] - 1]
            tip = data["model"][entry["previous"] - 1]["L"]
            parent = before.tip if before.is_rod else before.at((tip, 0, 0))
        options = {"parent": parent, "joint": joint_of(entry), "offset": np.array(entry["g_ini"])}
        link = f"link{entry['link']}"
        scale += [1.0] * options["joint"].nv
        if entry["type"] == "r":
            M = np.array(entry["mass_matrix_cm"])
            links.append(robot.add_body(link, mass=M[3, 3], com=(entry["cx"], 0, 0), inertia=M[:3, :3], **options))
            continue
        (division,) = entry["divisions"]
        orders = [k if on else None for k, on in zip(division["order"], division["strain_modes"])]
        names = ("torsion", "bending_y", "bending_z", "stretch", "shear_y", "shear_z")
        rod = robot.add_rod(
            link,
            length=entry["L"],
            section=pl.Circle(radius=RADII[name]),
            material=pl.Material(young=entry["E"], poisson=entry["nu"], density=entry["rho"], viscosity=entry["eta"]),
            strains=pl.Strains(**dict(zip(names, orders))),
            points=len(division["X"]) - 2,
            collocation=True,
            **options,
        )
        links.append(rod)
        scale += [1 / entry["L"] if c < 3 else 1.0 for c in rod.content.strains.components]
    return Golden(data, links, robot.compile(), np.array(scale))


@pytest.fixture(params=NAMES)
def golden(request) -> Golden:
    return load(request.param)


def assert_close(actual, expected, rtol=RTOL):
    """Equal relative to the largest entry."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * np.abs(expected).max())


def test_points_and_weights(golden):
    """The computational points of the rods are the golden ones."""
    assert golden.system.nv == len(golden["q"])
    for entry in golden.data["model"]:
        if entry["type"] == "s":
            assert_close(golden.system.rod_points(f"link{entry['link']}"), entry["divisions"][0]["X"], 1e-14)
    assert len(golden.frames()) == len(golden.data["g"])


def test_poses(golden):
    q, _, _ = golden.state()
    assert_close([golden.system.pose(frame, q) for frame in golden.frames()], golden["g"], golden.rtol)


def test_jacobians(golden):
    q, _, _ = golden.state()
    assert_close(
        [golden.system.jacobian(frame, q) * golden.scale for frame in golden.frames()], golden["J"], golden.rtol
    )


def test_jacobian_rate(golden):
    """The golden field is Ad⁻¹ of the rate in world axes, J̇ + ad_η J = ∂η/∂q; the same acceleration, other columns."""
    q, v, _ = golden.state()
    rate = golden.system.jacobian_rate(golden.frames()[-1], q, v) * golden.scale
    assert_close(rate + pl.lie.ad(golden["eta"][-1]) @ golden["J"][-1], golden["Jdot_last"], golden.rtol)
    assert_close(rate @ golden["qd"], golden["Jdot_last"] @ golden["qd"], golden.rtol)


def test_twists(golden):
    q, v, _ = golden.state()
    assert_close([golden.system.twist(frame, q, v) for frame in golden.frames()], golden["eta"], golden.rtol)


def test_accelerations(golden):
    """The body acceleration of the last point follows from the golden J and its rate."""
    q, v, a = golden.state()
    expected = golden["J"][-1] @ golden["qdd"] + golden["Jdot_last"] @ golden["qd"]
    assert_close(golden.system.acceleration(golden.frames()[-1], q, v, a), expected, golden.rtol)


def test_mass_matrix(golden):
    q, _, _ = golden.state()
    assert_close(golden.form(golden.system.mass_matrix(q)), golden["M"], golden.rtol)


def test_forces(golden):
    system = golden.system
    q, v, a = golden.state()
    assert_close(golden.covector(system.coriolis_forces(q, v)), golden["h_coriolis"], golden.rtol)
    assert_close(golden.covector(system.gravity_forces(q)), golden["h_static"], golden.rtol)
    assert_close(golden.covector(system.inverse_dynamics(q, v, a)), golden["ID"], golden.rtol)


def test_stiffness_and_damping(golden):
    assert_close(golden.form(golden.system.stiffness_matrix()), golden["K"], 1e-13)
    assert_close(golden.form(golden.system.damping_matrix()), golden["D"], 1e-13)
    assert_close(golden.form(-golden.system.damping_matrix()), golden["dtau_dqd"], 1e-13)


def test_derivatives(golden):
    d = golden.system.inverse_dynamics_derivatives(*golden.state())
    assert_close(golden.covector(d.tau), golden["ID"], golden.rtol)
    assert_close(golden.form(d.dq), golden["dID_dq"], golden.rtol)
    assert_close(golden.form(d.dv), golden["dID_dqd"], golden.rtol)
    assert_close(golden.form(d.mass), golden["M"], golden.rtol)


def actuation(golden: Golden) -> np.ndarray:
    """B u in the golden coordinates; zero without actuators."""
    return golden["B"] @ golden["u"] if "B" in golden.data else np.zeros(golden.system.nv)


def test_internal_forces(golden):
    """Golden tau = −K q − D qd + B u."""
    q, v, _ = golden.state()
    resistance = golden.system.elastic_forces(q) + golden.system.damping_matrix() @ v
    assert_close(actuation(golden) - golden.covector(resistance), golden["tau"], 1e-12)


@pytest.mark.parametrize("name", ["cantilever_legendre3", "hybrid_serial"])
def test_elastic_tangent(name):
    """Without cables ∂tau/∂q = −K."""
    golden = load(name)
    q, _, _ = golden.state()
    assert_close(golden.form(-golden.system.elastic_tangent(q)), golden["dtau_dq"], 1e-12)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("cantilever_legendre3", "qdd_forward"),
        ("hybrid_serial", "forward_wrench_controlled"),
        ("paper_cable_driven_manipulator", "qdd_forward"),
    ],
)
def test_forward_dynamics(name, field):
    """Free motion, imposed joint torques, cable tensions (through the golden B)."""
    golden = load(name)
    q, v, _ = golden.state()
    a = golden.system.forward_dynamics(q, v, actuation(golden) / golden.scale)
    expected = golden.data[field]
    assert_close(a / golden.scale, expected["qdd"] if isinstance(expected, dict) else expected, golden.rtol)


def test_imposed_joint_accelerations():
    """Hybrid robot: joint accelerations given, joint torques and the motion of the soft link follow."""
    golden = load("hybrid_serial")
    case = {name: np.array(x) for name, x in golden.data["forward_coordinate_controlled"].items()}
    system = golden.system
    q, v, _ = golden.state()
    M = golden.form(system.mass_matrix(q))
    rhs = golden.covector(-system.bias_forces(q, v) - system.elastic_forces(q) - system.damping_matrix() @ v)
    soft = np.linalg.solve(M[2:, 2:], rhs[2:] - M[2:, :2] @ case["qdd_joints_imposed"])
    assert_close(soft, case["qdd_soft"])
    torques = M[:2] @ np.concatenate([case["qdd_joints_imposed"], soft]) - rhs[:2]
    assert_close(torques, case["joint_torques"])
    # the same through forward dynamics: these torques give back the imposed accelerations
    tau = np.concatenate([torques, np.zeros(18)])
    a = system.forward_dynamics(q, v, tau) / golden.scale
    assert_close(a, np.concatenate([case["qdd_joints_imposed"], case["qdd_soft"]]))


def assert_equilibrium(golden: Golden, q_golden, tau_golden=0.0):
    q = golden.scale * np.asarray(q_golden)
    gravity, elastic = golden.system.gravity_forces(q), golden.system.elastic_forces(q)
    size = max(np.abs(golden.covector(gravity)).max(), np.abs(golden.covector(elastic)).max())
    residual = golden.covector(gravity + elastic) - tau_golden
    assert size > 1e-2
    assert np.abs(residual).max() < RTOL * size


def test_statics_of_cantilever():
    golden = load("cantilever_legendre3")
    case = golden.data["statics"]
    assert_equilibrium(golden, case["q"])
    assert_close(golden.system.pose(golden.links[0].tip, golden.scale * case["q"]), case["g_tip"])


def test_statics_of_hybrid():
    """Joint angles are held by the golden torques."""
    golden = load("hybrid_serial")
    case = golden.data["statics"]
    q = np.concatenate([case["joint_angles"], case["q_soft"]])
    assert_equilibrium(golden, q, np.concatenate([case["joint_torques"], np.zeros(18)]))
    assert_close(golden.system.pose(golden.links[2].tip, golden.scale * q), case["g_tip"])


def test_statics_of_manipulator():
    """Cables slack: equilibrium of gravity and elasticity. Cables taut: the tip pose of the golden configuration."""
    golden = load("paper_cable_driven_manipulator")
    slack = [case for case in golden.data["statics"] if not np.any(case["u"])]
    assert len(slack) == 1
    assert_equilibrium(golden, slack[0]["q"])
    for case in golden.data["statics"]:
        assert_close(golden.system.pose(golden.links[0].tip, golden.scale * case["q"]), case["g_tip"])
