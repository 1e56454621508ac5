"""Linkages of SoRoSim: structs as it would save them, filled with the numbers of `tests/data` that it computed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import pliant as pl
from pliant.io import SOROSIM_EXPORT, from_sorosim
from pliant.io.matlab import read_mat

DATA = Path(__file__).parent / "data"
RADII = {
    "cantilever_legendre3": (0.02, 0.01),
    "hybrid_serial": (0.02, 0.01),
    "paper_cable_driven_manipulator": (0.03, 0.015),
}


def cells(entries: list) -> np.ndarray:
    """A MATLAB cell row."""
    out = np.empty((1, len(entries)), dtype=object)
    for k, entry in enumerate(entries):
        out[0, k] = entry
    return out


def section_stiffness(E: float, G: float, r: np.ndarray) -> np.ndarray:
    A, I = np.pi * r**2, np.pi * r**4 / 4
    rows = [np.diag([G * 2 * i, E * i, E * i, E * a, G * a, G * a]) for a, i in zip(A, I)]
    return np.vstack(rows)


def struct_of(name: str) -> tuple[dict, dict]:
    """The struct of a linkage, from what the golden file says of it."""
    golden = json.loads((DATA / f"{name}.json").read_text())
    links, rods = [], []
    for entry in golden["model"]:
        basis = np.array(entry["joint_basis_columns"], dtype=float).reshape(-1, 6).T
        own = [{"Phi": basis, "dof": basis.shape[1]}]
        link = {"jointtype": entry["joint"], "linktype": entry["type"], "Rho": entry["rho"], "Kj": 0.0, "Dj": 0.0}
        if entry["type"] == "r":
            there, back = np.eye(4), np.eye(4)
            there[0, 3], back[0, 3] = entry["cx"], entry["L"] - entry["cx"]
            link |= {"M": np.array(entry["mass_matrix_cm"]), "gi": there, "gf": back, "L": entry["L"], "CS": "C"}
        else:
            E, G = entry["E"], entry["E"] / (2 * (1 + entry["nu"]))
            link |= {"E": E, "G": G, "Eta": entry["eta"], "CS": "C", "ld": cells([entry["L"]])}
            link |= {"gi": cells([np.eye(4)]), "gf": cells([np.eye(4)]), "L": entry["L"]}
            (division,) = entry["divisions"]
            X = np.array(division["X"])
            r = RADII[name][0] + X * (RADII[name][1] - RADII[name][0])
            straight = np.tile([0, 0, 0, 1.0, 0, 0], len(X))[:, None] * np.ones(4)
            own.append({
                "Type": "Legendre Polynomial", "SubClass": "", "Phi_dof": np.array(division["strain_modes"])[:, None],
                "Phi_odr": np.array(division["order"])[:, None], "Xs": X[:, None], "xi_star": straight, "dof": 1,
                "Es": section_stiffness(E, G, r),
            })  # fmt: skip
        links.append(link)
        rods.append(own)
    N = len(links)
    data = {
        "N": N, "LinkIndex": np.arange(1, N + 1)[:, None], "iLpre": np.array([[e["previous"]] for e in golden["model"]]),
        "g_ini": np.vstack([np.array(e["g_ini"], dtype=float) for e in golden["model"]]), "Gravity": 1,
        "G": np.array([[0, 0, 0, 0, 0, -9.81]]).T, "nCLj": 0, "n_sact": 0, "np": 0, "VLinks": cells(links),
        "CVRods": cells([cells(own) for own in rods]),
    }  # fmt: skip
    return data, golden


@pytest.mark.parametrize("name", RADII)
def test_a_saved_linkage_has_its_poses_and_matrices(name: str, tmp_path: Path) -> None:
    data, golden = struct_of(name)
    savemat(tmp_path / "linkage.mat", data)
    found = from_sorosim(tmp_path / "linkage.mat")
    system = found.robot.compile()
    q = found.to_pliant(golden["q"])
    np.testing.assert_allclose(found.from_pliant(q), golden["q"], rtol=1e-13)
    tip = np.array(golden["g"][-1])
    last = system.links[-1]
    assert golden["points"][-1]["X"] == 1.0
    np.testing.assert_allclose(system.pose(f"{last}.tip", q), tip, atol=2e-7)
    # K in its coordinates: those of bending are multiplied by the length
    scale = np.concatenate([part.scale for part in found.parts])
    K = scale[:, None] * system.stiffness_matrix() * scale
    np.testing.assert_allclose(K, golden["K"], atol=1e-12 * np.abs(golden["K"]).max())
    M = scale[:, None] * system.mass_matrix(q) * scale
    np.testing.assert_allclose(M, golden["M"], atol=2e-7 * np.abs(golden["M"]).max())
    assert not found.warnings


def cabled(name: str) -> tuple[dict, dict]:
    """With the cable of the benchmark: along y, from 2/3 of the radius."""
    data, golden = struct_of(name)
    X = np.array(golden["model"][0]["divisions"][0]["X"])
    offsets = np.vstack([0 * X, 0.02 - 0.01 * X, 0 * X])
    bent = np.vstack([0 * X, 0 * X, 0.02 * np.sin(np.pi * X)])
    table = np.empty((2, 1), dtype=object)
    table[0, 0], table[1, 0] = cells([offsets]), cells([bent])
    return data | {"n_sact": 2, "dc": table, "np": 1}, golden


def test_cables_pull_with_a_negative_input(tmp_path: Path) -> None:
    data, _golden = cabled("paper_cable_driven_manipulator")
    savemat(tmp_path / "linkage.mat", data)
    found = from_sorosim(tmp_path / "linkage.mat", name="arm")
    assert found.inputs == ("cable1", "cable2")
    assert found.input_values([-10.0, 0.0]) == {"cable1": 10.0, "cable2": 0.0}
    tendons = found.robot.tendons
    assert tendons["cable1"].path[0].y == pytest.approx((0.02, 0.01))
    np.testing.assert_allclose(tendons["cable2"].path[0].offsets([0.5])[0][0], [0, 0, 0.02], atol=1e-5)
    rest = pl.solve_statics(found.robot.compile(), found.input_values([-10.0, 0.0]))
    assert rest.success
    assert rest.position("link1.tip")[1] > 0.05  # towards the cable
    assert any("point wrenches" in text for text in found.warnings)


def test_several_divisions_and_every_joint(tmp_path: Path) -> None:
    """Two divisions with fixed parts between them; joints by their columns; coordinates there and back."""
    data, _golden = struct_of("cantilever_legendre3")
    link, rods = data["VLinks"][0, 0], data["CVRods"][0, 0]
    step = pl.translate(0.05, 0, 0.01).matrix
    soft = link | {"ld": cells([0.3, 0.2]), "gi": cells([np.eye(4), step]), "gf": cells([step, np.eye(4)])}
    joints = {
        "R": [[0, 0, 1, 0, 0, 0]], "P": [[0, 0, 0, 0, 1, 0]], "H": [[1, 0, 0, 0.02, 0, 0]], "C": [[1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]],
        "A": [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]], "S": np.eye(6)[:3], "F": np.eye(6),
    }  # fmt: skip
    links, every = [soft], [[rods[0, 0], rods[0, 1], rods[0, 1]]]
    for kind, columns in joints.items():
        basis = np.array(columns, dtype=float).T
        body = {"jointtype": kind, "linktype": "r", "M": np.diag([1e-3] * 3 + [0.1] * 3), "gi": step, "gf": np.eye(4)}
        links.append(body | {"Kj": 2.0 if kind == "R" else 0.0, "Dj": 0.0, "CS": "C"})
        every.append([{"Phi": basis, "dof": basis.shape[1]}])
    N = len(links)
    data |= {
        "LinkIndex": np.arange(1, N + 1)[:, None], "iLpre": np.arange(N)[:, None], "g_ini": np.vstack([np.eye(4)] * N),
        "VLinks": cells(links), "CVRods": cells([cells(own) for own in every]),
    }  # fmt: skip
    savemat(tmp_path / "linkage.mat", data)
    found = from_sorosim(tmp_path / "linkage.mat")
    system = found.robot.compile()
    assert system.links[:2] == ("link1_1", "link1_2")
    assert [type(link.joint).__name__ for link in found.robot.links[2:]] == [
        "Revolute", "Prismatic", "Helical", "Cylindrical", "Planar", "Spherical", "Free",
    ]  # fmt: skip
    assert found.robot.link("link2").joint.stiffness == (2.0,)
    given = np.random.default_rng(1).uniform(-0.4, 0.4, sum(part.size for part in found.parts))
    q = found.to_pliant(given)
    np.testing.assert_allclose(found.from_pliant(q), given, atol=1e-12)
    # poses by exponentials of the columns, as SoRoSim has them
    g = system.pose("link1_2.tip", q)
    at = sum(part.size for part in found.parts[:2])
    for k, columns in enumerate(joints.values(), start=2):
        basis = np.array(columns, dtype=float).T
        g = g @ pl.lie.exp(basis @ given[at : at + basis.shape[1]])
        at += basis.shape[1]
        np.testing.assert_allclose(system.pose(f"link{k}", q), g, atol=1e-12)
        g = g @ step
    between = pl.lie.inverse(system.pose("link1_1.tip", q)) @ system.pose("link1_2.base", q)
    np.testing.assert_allclose(between, step @ step, atol=1e-12)


def test_objects_of_classes_are_refused_with_the_command(tmp_path: Path) -> None:
    savemat(tmp_path / "other.mat", {"L": np.eye(3)})
    with pytest.raises(ValueError, match=r"arrayfun.*struct") as caught:
        from_sorosim(tmp_path / "other.mat")
    assert SOROSIM_EXPORT in str(caught.value)
    (tmp_path / "no.mat").write_bytes(b"nothing of the kind" * 20)
    with pytest.raises(ValueError, match="cannot be read as a MATLAB file"):
        from_sorosim(tmp_path / "no.mat")


def test_a_rectangular_section_is_not_turned() -> None:
    """Height along y: easily bent about z if it is the smaller side."""
    data, golden = struct_of("cantilever_legendre3")
    link, rod = data["VLinks"][0, 0], dict(data["CVRods"][0, 0][0, 1])
    E, G, h, w = link["E"], link["G"], 0.01, 0.03
    Iy, Iz, A = h * w**3 / 12, h**3 * w / 12, h * w
    rod["Es"] = np.vstack([np.diag([G * (Iy + Iz), E * Iy, E * Iz, E * A, G * A, G * A])] * rod["Xs"].size)
    data["VLinks"][0, 0]["CS"] = "R"
    plain = data | {
        "VLinks": [data["VLinks"][0, 0] | {"gi": [np.eye(4)], "gf": [np.eye(4)], "ld": [golden["model"][0]["L"]]}]
    }
    plain["CVRods"] = [[data["CVRods"][0, 0][0, 0], rod]]
    found = from_sorosim(plain)  # the struct itself
    section = found.robot.links[0].content.section
    assert isinstance(section, pl.Rectangle)
    assert (section.height, section.width) == pytest.approx((h, w))


def test_version_7_3(tmp_path: Path) -> None:
    """Structs and cells as MATLAB writes them to HDF5: groups, references, rows and columns turned."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "seven.mat"
    with h5py.File(path, "w", userblock_size=512) as file:

        def number(group, name, value):
            data = group.create_dataset(name, data=np.atleast_2d(np.asarray(value, dtype=float)).T)
            data.attrs["MATLAB_class"] = np.bytes_("double")
            return data

        def text(group, name, value):
            data = group.create_dataset(name, data=np.array([[ord(c)] for c in value], dtype=np.uint16))
            data.attrs["MATLAB_class"] = np.bytes_("char")

        refs = file.create_group("#refs#")
        one = refs.create_group("a")
        one.attrs["MATLAB_class"] = np.bytes_("struct")
        number(one, "L", 0.5)
        text(one, "CS", "C")
        cell = file.create_dataset("VLinks", (1, 1), dtype=h5py.ref_dtype)
        cell[0, 0] = one.ref
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        number(file, "g_ini", np.arange(8.0).reshape(2, 4))
        lost = file.create_dataset("L", data=np.zeros((1, 6), dtype=np.uint32))
        lost.attrs["MATLAB_class"] = np.bytes_("SorosimLinkage")
        lost.attrs["MATLAB_object_decode"] = 3
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    found = read_mat(path)
    np.testing.assert_array_equal(found["g_ini"], np.arange(8.0).reshape(2, 4))
    assert found["VLinks"][0]["CS"] == "C"
    assert found["VLinks"][0]["L"] == 0.5
    assert "class" in repr(found["L"])


# ---------------------------------------------------------------- files of strangers


def test_packed_files_are_not_unpacked_beyond_a_size(tmp_path: Path, monkeypatch) -> None:
    import pliant.io.matlab as matlab

    monkeypatch.setattr(matlab, "_MOST", 1_000_000)
    savemat(tmp_path / "a.mat", {"a": np.zeros(10_000)}, do_compression=True)
    assert read_mat(tmp_path / "a.mat")["a"].shape == (1, 10_000)
    savemat(tmp_path / "a.mat", {"a": np.zeros(1_000_000)}, do_compression=True)
    assert (tmp_path / "a.mat").stat().st_size < 10_000
    with pytest.raises(ValueError, match="it unpacks to more than 1000000 bytes"):
        read_mat(tmp_path / "a.mat")


def test_what_a_file_says_of_its_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"a": np.arange(6.0).reshape(2, 3), "b": {"c": [1, 2], "d": "text"}, "e": cells(["x", np.eye(2)])})
    whole = path.read_bytes()
    found = read_mat(path)
    assert (found["a"].shape, found["b"]["d"], found["e"][0]) == ((2, 3), "text", "x")
    at = whole.index((2).to_bytes(4, "little") + (3).to_bytes(4, "little"))
    path.write_bytes(whole[:at] + (2**30).to_bytes(4, "little") + whole[at + 4 :])
    with pytest.raises(ValueError, match="an array says that it has 3221225472 entries"):
        read_mat(path)
    for k in range(130, len(whole), 7):
        path.write_bytes(whole[:k])
        try:  # between two variables, it is a file with fewer of them
            assert set(read_mat(path)) < set(found), k
        except ValueError as error:
            assert "cannot be read as a MATLAB file" in str(error)  # noqa: PT017
    deep: object = 1.0
    for _ in range(200):
        deep = cells([deep])
    savemat(path, {"a": deep})
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        read_mat(path)


def test_hdf5_files_lead_nowhere_else(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["x"] = np.arange(3.0)

    def refused(words: str, make) -> None:
        with h5py.File(tmp_path / "a.mat", "w") as file:
            file["fine"] = 1.0
            make(file)
        with pytest.raises(ValueError, match=words):
            read_mat(tmp_path / "a.mat")

    def external(file) -> None:
        file["a"] = h5py.ExternalLink(str(secret), "/x")

    def soft(file) -> None:
        file["a"] = h5py.SoftLink("/a")

    def raw(file) -> None:
        file.create_dataset("a", (3,), dtype="f8", external=[(str(secret), 0, 24)])

    def virtual(file) -> None:
        layout = h5py.VirtualLayout((3,), dtype="f8")
        layout[:] = h5py.VirtualSource(str(secret), "x", (3,))
        file.create_virtual_dataset("a", layout)

    def large(file) -> None:
        file.create_dataset("a", (10**10,), dtype="f8", chunks=(1000,))

    def itself(file) -> None:
        own = file.create_dataset("a", (1,), dtype=h5py.ref_dtype)
        own[0] = own.ref

    def group(file) -> None:
        own = file.create_group("a")
        own["b"] = own

    def empty(file) -> None:
        file.create_dataset("a", data=np.array([10**6, 10**6], dtype="u8")).attrs["MATLAB_empty"] = 1

    def text(file) -> None:
        file["a"] = "fine"

    refused("'a' is a link to another file", external)
    refused("'a' is a link to another place", soft)
    refused("has its numbers in another file", raw)
    refused("is put together from other arrays", virtual)
    refused("have more than 200000000 bytes", large)
    refused("nested deeper than 100 levels", itself)
    refused("nested deeper than 100 levels", group)
    refused("says that it is empty", empty)
    refused("only numbers are read", text)
