"""Meshes that are drawn for bodies, and mesh files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.viz.geometry import build_scene

BOX = pl.Box(20.0, 10.0, 6.0)  # millimetres


def write_obj(path: Path, mesh=None) -> Path:
    own = BOX.mesh() if mesh is None else mesh
    rows = [f"v {x} {y} {z}" for x, y, z in own.vertices] + [f"f {a} {b} {c}" for a, b, c in own.faces + 1]
    path.write_text("\n".join(rows))
    return path


def test_it_is_drawn_in_place_of_the_shape(tmp_path: Path) -> None:
    file = write_obj(tmp_path / "cover.obj")
    place = pl.translate(0.1, 0, 0) @ pl.rotate("z", 0.5)
    robot = pl.Robot("cart")
    red = pl.Visual(file=str(file), scale=1e-3, pose=place, color=(1.0, 0.0, 0.5))
    cart = robot.add_body(
        "cart", joint=pl.Free(), shape=pl.Sphere(0.3), mass=1.0, visual=[red, pl.Visual(shape=pl.Sphere(0.02))]
    )
    robot.add_body("tail", parent=cart, offset=(1, 0, 0), visual=str(file))
    system = robot.compile()
    scene = build_scene(system)
    solids = {solid.name: solid for solid in scene.solids}
    assert set(solids) == {"cart", "cart (2)", "tail"}
    assert solids["cart"].color == (255, 0, 128)
    expected = place.matrix[:3, :3] @ (1e-3 * BOX.mesh().vertices).T + place.matrix[:3, 3:]
    np.testing.assert_allclose(solids["cart"].mesh.vertices, expected.T, atol=1e-12)
    assert np.ptp(solids["tail"].mesh.vertices[:, 0]) == pytest.approx(20.0)
    # what moves does not depend on it
    plain = pl.Robot("cart")
    plain.add_body(
        "tail", parent=plain.add_body("cart", joint=pl.Free(), shape=pl.Sphere(0.3), mass=1.0), offset=(1, 0, 0)
    )
    assert plain.compile().mass == system.mass
    assert system.with_parameters({"cart.mass": 2.0}).robot.link("cart").content.visual == (
        red,
        pl.Visual(shape=pl.Sphere(0.02)),
    )


def test_it_is_drawn_everywhere(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    robot = pl.Robot("cart")
    robot.add_body(
        "cart", joint=pl.Prismatic("x"), mass=1.0, visual=pl.Visual(file=str(write_obj(tmp_path / "a.obj")), scale=1e-2)
    )
    system = robot.compile()
    page = pl.save_html(system, tmp_path / "a.html").read_text()
    assert len(page) > 1e5
    assert "<path" in robot._repr_html_()
    from pliant.viz.drawing import plot_shape
    from pliant.viz.polygons import Scene

    faces, kinds = Scene(system).polygons(system.neutral())
    assert len(faces) == len(BOX.mesh().faces) == kinds.count("body")
    plot_shape(system, system.neutral())


def test_inertia_from_a_file_and_a_density(tmp_path: Path) -> None:
    """Of a box, exactly, from every kind of file."""
    trimesh = pytest.importorskip("trimesh")
    box = pl.Box(0.02, 0.01, 0.006)
    solid = trimesh.Trimesh(BOX.mesh().vertices, BOX.mesh().faces)
    wanted = pl.Inertia.of(box, density=2700.0)
    for kind in ("stl", "obj", "ply", "glb", "off"):
        solid.export(tmp_path / f"box.{kind}")
        mesh = pl.Mesh.from_file(tmp_path / f"box.{kind}", scale=1e-3)
        found = pl.Inertia.of(mesh, density=2700.0)
        assert found.mass == pytest.approx(wanted.mass, rel=1e-6), kind
        np.testing.assert_allclose(found.inertia, wanted.inertia, rtol=1e-5, atol=1e-6 * wanted.inertia.max())
    body = pl.Robot("one")
    link = body.add_body("box", shape=mesh, density=2700.0)
    assert link.content.inertia.mass == pytest.approx(wanted.mass, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({}, ValueError, "needs a file or a shape"),
        ({"file": "a.stl", "shape": BOX}, ValueError, "and not both"),
        ({"file": "nowhere.stl"}, FileNotFoundError, "nowhere"),
        ({"file": "model.step"}, ValueError, r"must be \.stl or \.obj"),
        ({"shape": "box"}, TypeError, "must be a shape"),
        ({"shape": BOX, "color": (2, 0, 0)}, ValueError, "from 0 to 1"),
        ({"shape": BOX, "scale": 0.0}, ValueError, "scale"),
    ],
)
def test_what_is_refused(options, error, text) -> None:
    with pytest.raises(error, match=text):
        pl.Visual(**options)


def test_in_a_model_file(tmp_path: Path) -> None:
    """Paths are those from the folder of the file."""
    (tmp_path / "meshes").mkdir()
    write_obj(tmp_path / "meshes" / "box.obj")
    text = """
name: cart
links:
  cart:
    type: body
    joint: Free
    shape: {type: Mesh, file: meshes/box.obj, scale: 1e-3}
    density: 2700
    visual:
      - meshes/box.obj
      - {file: meshes/box.obj, scale: 1e-3, pose: [0, 0, 0.1], color: [0.8, 0.3, 0.2]}
      - {shape: {type: Sphere, radius: 0.1}}
"""
    path = tmp_path / "cart.yaml"
    path.write_text(text)
    robot = pl.load_model(path).robot
    body = robot.link("cart").content
    assert body.inertia.mass == pytest.approx(2700 * 0.02 * 0.01 * 0.006)
    assert [v.scale for v in body.visual] == [1.0, 1e-3, 1.0]
    assert body.visual[1].color == (0.8, 0.3, 0.2)
    robot.save(tmp_path / "again.yaml")
    again = pl.load_model(tmp_path / "again.yaml").robot.link("cart").content
    assert again.visual == body.visual
    path.write_text(text.replace("meshes/box.obj, scale: 1e-3}", "meshes/bix.obj, scale: 1e-3}"))
    with pytest.raises(pl.ModelFileError, match=r"links\.cart\.shape.*bix\.obj"):
        pl.load_model(path)
