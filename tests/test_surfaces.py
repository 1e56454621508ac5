"""Hulls, meshes, height fields, ellipsoids and capsules: distances against other programs and brute force, masses, files, refusals."""

import numpy as np
import pytest

import pliant as pl
from pliant._jit import kernel
from pliant.kernels.algebra.dual import get3, get9
from pliant.kernels.loads.surfaces import distance_to

N0 = np.int64(0)
POSE = pl.translate(0.1, 0.2, 0.3) @ pl.rotate((1, 2, 3), 0.7)


@kernel
def measure_tables(contact, R, p, x, out):
    """Distance from the first shape, its gradient and second derivative at the rows of x, into the rows of out."""
    for k in range(x.shape[0]):
        d, n, H = distance_to(contact, N0, get9(R, N0), get3(p, N0), get3(x[k], N0))
        out[k, 0] = d
        for c in range(3):
            out[k, 1 + c] = n[c]
        for c in range(9):
            out[k, 4 + c] = H[c]


class Ruler:
    """Measures the distance from a shape that is somewhere in the world; points and gradients are in the frame of the shape."""

    def __init__(self, shape: pl.model.shapes.Shape) -> None:
        robot = pl.Robot("ruler")
        robot.add_body("point", joint=pl.Free(), shape=pl.Sphere(0.01), mass=1.0)
        robot.add_obstacle("thing", shape, pose=POSE)
        robot.add_contact("touch", "point", "thing", stiffness=1.0)
        self.tables = robot.compile().contact
        self.R, self.p = self.tables.place[0, :9].copy(), self.tables.place[0, 9:12].copy()

    def __call__(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        R = self.R.reshape(3, 3)
        out = np.zeros((len(c), 13))
        measure_tables(self.tables, self.R, self.p, np.ascontiguousarray(c @ R.T + self.p), out)
        H = np.einsum("ai,nab,bj->nij", R, out[:, 4:].reshape(-1, 3, 3), R)
        return out[:, 0], out[:, 1:4] @ R, H


def check_derivatives(ruler: Ruler, c: np.ndarray, few: int = 0, h: float = 1e-6) -> None:
    """Gradient and second derivative against differences, but for `few` points next to where they jump."""
    _d, n, H = ruler(c)
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), atol=1e-9 * np.abs(H).max())
    scale = 1.0 + np.abs(H).max(axis=(1, 2))
    for k in range(3):
        plus, minus = ruler(c + h * np.eye(3)[k]), ruler(c - h * np.eye(3)[k])
        slope = np.abs((plus[0] - minus[0]) / (2 * h) - n[:, k]) / scale
        bend = np.abs((plus[1] - minus[1]) / (2 * h) - H[:, :, k]).max(axis=1) / scale**2
        assert np.sum(slope > 1e-7) <= few
        assert np.sum(bend > 1e-6) <= few


def points(seed: int, n: int, half: object) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, 3)) * half


def some_hull() -> pl.Hull:
    return pl.Hull(0.05 * np.random.default_rng(0).normal(size=(30, 3)))


def torus(n: int = 24, m: int = 12) -> pl.Mesh:
    """A ring of radius 0.1 and thickness 0.06, which is not convex."""
    a, b = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    ring = 0.1 + 0.03 * np.cos(b)
    vertices = np.stack([ring * np.cos(a), ring * np.sin(a), 0.03 * np.sin(b)], axis=-1).reshape(-1, 3)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    corner = [((i + u) % n) * m + (j + v) % m for u, v in ((0, 0), (1, 0), (1, 1), (0, 1))]
    faces = np.concatenate([np.stack([corner[k] for k in own], axis=1) for own in ((0, 1, 2), (0, 2, 3))])
    return pl.Mesh(vertices, faces)


def to_triangles(c: np.ndarray, mesh: pl.Mesh | pl.Hull) -> np.ndarray:
    """Distance from all triangles by least squares with bounds, one by one."""
    best = np.full(len(c), np.inf)
    for a, b, d in mesh.surface.vertices[mesh.surface.faces]:
        for p, q in ((a, b), (b, d), (d, a)):  # the edges
            s = np.clip((c - p) @ (q - p) / ((q - p) @ (q - p)), 0, 1)
            best = np.minimum(best, np.linalg.norm(c - p - s[:, None] * (q - p), axis=1))
        n = np.cross(b - a, d - a)
        n /= np.linalg.norm(n)
        foot = c - ((c - a) @ n)[:, None] * n
        inside = np.all([(np.cross(q - p, foot - p) @ n) >= 0 for p, q in ((a, b), (b, d), (d, a))], axis=0)
        best = np.where(inside, np.minimum(best, np.abs((c - a) @ n)), best)
    return best


@pytest.mark.parametrize(
    "shape", [some_hull(), torus(), pl.Hull(np.indices((2, 2, 2)).reshape(3, -1).T * 0.1)], ids=repr
)
def test_distance_from_triangles(shape):
    c = points(1, 1500, 0.2)
    ruler = Ruler(shape)
    d = ruler(c)[0]
    np.testing.assert_allclose(np.abs(d), to_triangles(c, shape), atol=1e-15)
    if isinstance(shape, pl.Hull):
        a, b, e = (shape.surface.vertices[shape.surface.faces[:, k]] for k in range(3))
        out = np.einsum("nfi,fi->nf", c[:, None] - a, np.cross(b - a, e - a)).max(axis=1)
    else:  # how often a ray to a far point passes through the surface, as a solid angle
        r = shape.surface.vertices[shape.surface.faces][None] - c[:, None, None]
        size = np.linalg.norm(r, axis=-1)
        triple = np.einsum("nfi,nfi->nf", r[:, :, 0], np.cross(r[:, :, 1], r[:, :, 2]))
        dot = [
            np.einsum("nfi,nfi->nf", r[:, :, i], r[:, :, j]) * size[:, :, 3 - i - j]
            for i, j in ((0, 1), (1, 2), (0, 2))
        ]
        out = np.pi - np.arctan2(triple, size.prod(axis=-1) + sum(dot)).sum(axis=1)
    assert np.array_equal(np.sign(out), np.sign(d))
    assert 10 < np.sum(d < 0) < 1400
    check_derivatives(ruler, c, few=3)


def test_distance_by_coal():
    """Against a library that computes distances by another algorithm."""
    coal = pytest.importorskip("coal")
    hull = some_hull()
    places = coal.StdVec_Vec3s()
    places.extend(list(hull.surface.vertices))
    faces = coal.StdVec_Triangle()
    faces.extend([coal.Triangle(*map(int, face)) for face in hull.surface.faces])
    other, ball = coal.Convex(places, faces), coal.Sphere(1e-3)
    c = points(2, 200, 0.2)
    d = Ruler(hull)(c)[0] - 1e-3
    for k in np.flatnonzero(d > 1e-3):
        result = coal.DistanceResult()
        where = coal.Transform3s(np.eye(3), c[k])
        coal.distance(other, coal.Transform3s(), ball, where, coal.DistanceRequest(), result)
        np.testing.assert_allclose(result.min_distance, d[k], atol=1e-6)


def test_distance_from_an_ellipsoid():
    half = np.array([0.1, 0.15, 0.07])
    ruler = Ruler(pl.Ellipsoid(*half))
    c = points(3, 800, 0.2)
    d, n, _H = ruler(c)
    foot = c - d[:, None] * n
    np.testing.assert_allclose(((foot / half) ** 2).sum(axis=1), 1.0, rtol=1e-12)
    assert np.array_equal(np.sign(((c / half) ** 2).sum(axis=1) - 1.0), np.sign(d))
    spread = np.random.default_rng(0).normal(size=(20000, 3))
    surface = half * spread / np.linalg.norm(spread, axis=1, keepdims=True)
    nearest = np.array([np.linalg.norm(surface - x, axis=1).min() for x in c])
    assert np.all(np.abs(d) <= nearest + 1e-15)
    assert np.all(np.abs(d) > nearest - 3e-3)
    check_derivatives(ruler, c)
    on_axes = np.vstack([0.12 * np.eye(3), 0.03 * np.eye(3), np.zeros((1, 3))])
    expected = [0.02, -0.03, 0.05, -0.063524, -0.068187, -0.04, -0.07]
    np.testing.assert_allclose(ruler(on_axes)[0], expected, atol=6e-7)  # the inner ones by hand, in their planes


def hills(nodes: tuple[int, int] = (41, 31)) -> pl.HeightField:
    return pl.HeightField.from_function(lambda x, y: 0.03 * np.cos(5 * x) * np.sin(4 * y), size=(2.0, 1.6), nodes=nodes)


def test_distance_from_a_height_field():
    from scipy.spatial import cKDTree

    field = hills()
    ruler = Ruler(field)
    c = points(4, 1500, [1.2, 1.0, 0.1])
    d, n, _H = ruler(c)
    x, y = np.linspace(-1.4, 1.4, 701), np.linspace(-1.2, 1.2, 601)
    grid = np.stack([*np.meshgrid(x, y, indexing="ij"), field.height(x, y)], axis=-1).reshape(-1, 3)
    nearest = cKDTree(grid).query(c)[0]
    assert np.all(np.abs(d) <= nearest + 1e-12)
    assert np.all(np.abs(d) > nearest - 3e-3)
    foot = c - d[:, None] * n
    on = np.array([field.height(p[0], p[1])[0, 0] for p in foot[:100]])
    np.testing.assert_allclose(foot[:100, 2], on, atol=1e-12)  # the two splines are one
    assert np.array_equal(np.sign(c[:100, 2] - [field.height(p[0], p[1])[0, 0] for p in c[:100]]), np.sign(d[:100]))
    check_derivatives(ruler, c, few=12)  # curvature jumps at the border


def test_heights_converge_and_nodes_are_met():
    x, y = np.linspace(-0.5, 0.5, 50), np.linspace(-0.4, 0.4, 40)
    exact = 0.03 * np.cos(5 * x)[:, None] * np.sin(4 * y)
    errors = [np.abs(hills(nodes).height(x, y) - exact).max() for nodes in ((21, 17), (41, 33))]
    assert errors[1] < errors[0] / 8
    field = hills((21, 17))
    own = field.height(np.linspace(-1, 1, 21), np.linspace(-0.8, 0.8, 17))
    np.testing.assert_allclose(own, field.heights, atol=1e-15)
    assert field.height(5.0, 5.0) == pytest.approx(np.asarray(field.heights)[-1, -1])


# ---------------------------------------------------------------- masses, drawing, files


def test_masses_are_those_of_the_same_solids():
    box = pl.Box(0.1, 0.2, 0.3)
    corners = np.array([[x, y, z] for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3)])
    hull = pl.Hull(corners)
    mesh = pl.Mesh(hull.surface.vertices, hull.surface.faces[:, ::-1])  # inside out
    for shape in (hull, mesh):
        np.testing.assert_allclose(shape.volume, box.volume, rtol=1e-14)
        np.testing.assert_allclose(shape.unit_inertia, box.unit_inertia, atol=1e-16)
        np.testing.assert_allclose(shape.centroid, [0.05, 0.1, 0.15], rtol=1e-14)
    ring = torus(200, 100)
    np.testing.assert_allclose(ring.volume, 2 * np.pi**2 * 0.1 * 0.03**2, rtol=1e-3)
    capsule = pl.Capsule(0.03, 0.1, "y")
    fine = capsule.mesh(around=200)
    solid = pl.Mesh(fine.vertices, fine.faces)
    np.testing.assert_allclose(solid.volume, capsule.volume, rtol=1e-3)
    np.testing.assert_allclose(solid.unit_inertia, capsule.unit_inertia, rtol=1e-3, atol=1e-9)
    robot = pl.Robot("own frame")
    robot.add_body("brick", joint=pl.Free(), shape=hull, density=1000)
    robot.add_body("moved", joint=pl.Free(), shape=hull, density=1000, com=(0, 0, 0))
    np.testing.assert_allclose(robot.link("brick").content.inertia.com, [0.05, 0.1, 0.15])
    np.testing.assert_allclose(robot.link("moved").content.shape_origin, [-0.05, -0.1, -0.15])


def test_corners_of_hulls_touch_their_faces():
    hull = some_hull()
    corners = hull.corners()
    np.testing.assert_allclose(Ruler(hull)(corners.points)[0], -corners.radius, atol=1e-12)
    box, same = (
        pl.Box(0.1, 0.2, 0.3),
        pl.Hull(np.array([s for s in np.ndindex(2, 2, 2)]) * [0.1, 0.2, 0.3] - [0.05, 0.1, 0.15]),
    )
    assert len(same.corners().edges) == 12
    order = [np.lexsort(shape.corners().points.round(9).T) for shape in (box, same)]
    np.testing.assert_allclose(box.corners().points[order[0]], same.corners().points[order[1]], atol=1e-12)


@pytest.mark.parametrize("name", ["ring.stl", "ring.obj", "text.stl"])
def test_files(tmp_path, name):
    ring = torus()
    v, f = np.asarray(ring.vertices), np.asarray(ring.faces)
    path = tmp_path / name
    if name == "ring.obj":
        lines = [f"v {a} {b} {c}" for a, b, c in v] + [f"f {a}/1 {b}//2 {c}" for a, b, c in f + 1]
        path.write_text("# ring\n" + "\n".join(lines))
    elif name == "text.stl":
        facets = [
            "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {a} {b} {c}\n" for a, b, c in t) + "endloop\nendfacet"
            for t in v[f]
        ]
        path.write_text("solid ring\n" + "\n".join(facets) + "\nendsolid\n")
    else:
        record = np.zeros(len(f), dtype=[("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("colour", "<u2")])
        record["corner"] = v[f]
        path.write_bytes(b"\0" * 80 + len(f).to_bytes(4, "little") + record.tobytes())
    mesh = pl.Mesh.from_file(path, scale=1e-3)
    assert len(mesh.surface.vertices) == len(v)
    assert mesh.surface.is_closed
    np.testing.assert_allclose(mesh.volume, 1e-9 * ring.volume, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.Hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), r"Hull\.points are all in one plane"),
        (lambda: pl.Hull([[0, 0], [1, 0]]), r"Hull\.points has shape \(2, 2\)"),
        (lambda: pl.Hull([[0, 0, 0], [1, 0, np.nan], [0, 1, 0], [1, 1, 1]]), r"Hull\.points has nan"),
        (lambda: pl.Mesh(np.eye(3), [[0, 1, 3]]), r"Mesh\.faces has numbers from 0 to 3, .* from 0 to 2"),
        (lambda: pl.Mesh(np.eye(3), [[0, 1, 0.5]]), r"Mesh\.faces has numbers"),
        (lambda: pl.Mesh(np.eye(3), [[0, 1, 1]]), "every triangle is only a line"),
        (lambda: pl.Mesh(np.eye(3), [[0, 1, 2]], rounding=-1), r"Mesh\.rounding = -1"),
        (lambda: pl.Mesh(np.eye(3), [[0, 1, 2]]).volume, "is open: it encloses no volume"),
        (lambda: pl.Mesh(np.eye(3), [[0, 1, 2]]).distance(), "is open: it has no inside"),
        (lambda: pl.Mesh.from_file("part.step"), r"must be \.stl or \.obj"),
        (lambda: pl.HeightField([[0, 0], [0, 0]], (1, 1)), r"HeightField\.heights has shape \(2, 2\)"),
        (lambda: pl.HeightField(np.full((3, 3), np.inf), (1, 1)), r"HeightField\.heights has inf"),
        (lambda: pl.HeightField(np.zeros((3, 3)), (1, 0)), r"HeightField\.size along y = 0"),
        (lambda: pl.Capsule(0.1, 0.2, "w"), r"Capsule\.axis = 'w'"),
    ],
)  # fmt: skip
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_are_sizes_not_points():
    robot = pl.Robot("sizes")
    robot.add_body("stone", joint=pl.Free(), shape=some_hull(), density=900)
    robot.add_obstacle("sheet", pl.Mesh(np.eye(3), [[0, 1, 2]], rounding=1e-3))
    robot.add_obstacle("field", pl.HeightField(np.zeros((3, 3)), (1, 1)))
    robot.add_contact("touch", "stone", "sheet", stiffness=1e3)
    names = set(robot.compile().parameters)
    assert {"sheet.shape.rounding", "touch.stiffness"} <= names
    assert not any(word in name for name in names for word in ("points", "vertices", "faces", "heights", "spacing"))


def test_cut_off_files(tmp_path):
    for name, data in (
        ("a.stl", b"solid x\nvertex 0 0 0\n"),
        ("b.stl", b"\0" * 90),
        ("c.obj", b"v 1 2\nf 1 2 3"),
        ("d.obj", b""),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match="path ="):
            pl.Mesh.from_file(tmp_path / name)


def test_model_files_hold_them(tmp_path):
    robot = pl.Robot("all")
    robot.add_body("ring", joint=pl.Free(), shape=torus(6, 4), density=900)
    robot.add_body("stone", joint=pl.Free(), shape=some_hull(), mass=0.3)
    robot.add_body("pill", joint=pl.Free(), shape=pl.Capsule(0.02, 0.1, "z"), mass=0.1)
    robot.add_obstacle("hills", hills((7, 5)))
    robot.add_obstacle("sheet", pl.Mesh(np.eye(3), [[0, 1, 2]], rounding=1e-3))
    robot.add_contact("ring on hills", "ring", "hills", stiffness=1e4)
    robot.add_contact("ring on stone", "ring", "stone", stiffness=1e4)
    path = tmp_path / "all.yaml"
    pl.save_model(robot, path)
    again = pl.load_model(path).robot
    for name in ("ring", "stone", "pill"):
        assert again.link(name).content.shape == robot.link(name).content.shape
        np.testing.assert_allclose(
            again.link(name).content.inertia.com, robot.link(name).content.inertia.com, atol=1e-15
        )
    for name in ("hills", "sheet"):
        assert again.obstacles[name].shape == robot.obstacles[name].shape
    assert again.contacts == robot.contacts
