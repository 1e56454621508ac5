"""Motions as USD files: what USD itself reads of them is what is drawn."""

import numpy as np
import pytest

import pliant as pl
from pliant.viz.recording import record_result
from pliant.viz.usd import encode_usd, write_usd


@pytest.fixture(scope="module")
def recording():
    robot = pl.Robot("arm, with a 'name'")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    arm = robot.add_rod("2 arms", length=0.3, section=pl.Circle(0.01), material=rubber, strains=pl.Strains.kirchhoff(2))
    robot.add_tendon("cable", arm, z=0.008)
    robot.add_body("ball", parent=arm.tip, shape=pl.Sphere(0.02), mass=0.05)
    system = robot.compile()
    return record_result(pl.simulate(system, 0.2, u={"cable": 3.0}), frames=5)


def test_the_text_has_every_part_and_picture(recording):
    text = encode_usd(recording)
    assert text.startswith("#usda 1.0\n")
    for line in ('def Mesh "_2_arms"', 'def Mesh "ball"', 'def BasisCurves "cable"', "endTimeCode = 4"):
        assert line in text
    assert text.count("{") == text.count("}")
    with pytest.raises(ValueError, match=r"ends with \.usda"):
        write_usd(recording, "motion.glb")


def test_usd_reads_it(recording, tmp_path):
    Usd = pytest.importorskip("pxr.Usd", reason="needs usd-core", exc_type=ImportError)
    UsdGeom = pytest.importorskip("pxr.UsdGeom")
    stage = Usd.Stage.Open(str(write_usd(recording, tmp_path / "motion.usda")))
    scene, k = recording.scene, 3
    rod = UsdGeom.Mesh(stage.GetPrimAtPath("/robot/_2_arms"))
    expected = scene.tubes[0].mesh(recording.poses[k]).vertices
    np.testing.assert_allclose(np.array(rod.GetPointsAttr().Get(k)), expected, atol=1e-6)
    ball = UsdGeom.Mesh(stage.GetPrimAtPath("/robot/ball"))
    placed = np.array(ball.ComputeLocalToWorldTransform(k)).T
    np.testing.assert_allclose(placed, recording.poses[k, scene.solids[0].pose], atol=1e-7)
    cable = UsdGeom.BasisCurves(stage.GetPrimAtPath("/robot/cable"))
    np.testing.assert_allclose(
        np.array(cable.GetPointsAttr().Get(k)), scene.cables[0].points(recording.poses[k]), atol=1e-6
    )
    assert stage.GetTimeCodesPerSecond() == pytest.approx(4 / (recording.t[-1] - recording.t[0]))
