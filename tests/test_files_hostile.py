"""Files that are broken, cut off, absurd or malicious: loaded, or refused with a clear message; nothing else."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

import pliant as pl

sys.path.insert(0, str(Path(__file__).parent / "soak"))
import mutate

pytest.importorskip("ruamel.yaml")

ROOT = Path(__file__).parent.parent
ARM = ROOT / "tests" / "data" / "arm7.urdf"
TEXT = pl.io.starter_text()
FILES = {
    **{path.stem: (path.read_bytes(), ".yaml") for path in sorted((ROOT / "examples" / "models").glob("*.yaml"))},
    **{f"starter {kind}": (pl.io.starter_text(kind).encode(), ".yaml") for kind in pl.io.STARTERS},
    "json": (pl.io.dump_model(pl.parse_model(TEXT), format="json").encode(), ".json"),
}


# ---------------------------------------------------------------- mutations


@pytest.mark.parametrize("name", FILES)
def test_mutants_are_loaded_or_refused(name, tmp_path):
    text, suffix = FILES[name]
    seeds = range(12)
    found = {seed: mutate.outcome(mutate.mutant(text, seed)[1], tmp_path, suffix) for seed in seeds}
    wrong = {seed: what for seed, what in found.items() if what not in ("loaded", "refused")}
    assert not wrong
    assert set(found.values()) >= {"refused"}
    assert mutate.outcome(text, tmp_path, suffix) == "loaded"


def test_mutants_of_a_urdf_file(tmp_path):
    found = {seed: mutate.outcome(mutate.mutant(ARM.read_bytes(), seed)[1], tmp_path, ".urdf") for seed in range(15)}
    assert set(found.values()) <= {"loaded", "refused"}, found


MJCF = ROOT / "tests" / "data" / "arm.xml"


def test_mutants_of_an_mjcf_file(tmp_path):
    assert mutate.outcome(MJCF.read_bytes(), tmp_path, ".xml") == "loaded"
    found = {seed: mutate.outcome(mutate.mutant(MJCF.read_bytes(), seed)[1], tmp_path, ".xml") for seed in range(60)}
    assert set(found.values()) == {"loaded", "refused"}, {k: v for k, v in found.items() if len(v) > 7}


@pytest.mark.parametrize("suffix", mutate.MESHES)
def test_mutants_of_meshes(suffix, tmp_path):
    whole = mutate.MESHES[suffix]
    assert mutate.outcome(whole, tmp_path, suffix) == "loaded"
    found = {seed: mutate.outcome(mutate.mutant(whole, seed)[1], tmp_path, suffix) for seed in range(60)}
    assert set(found.values()) == {"loaded", "refused"}, {k: v for k, v in found.items() if len(v) > 7}


def test_a_seed_names_a_mutant():
    text = TEXT.encode()
    assert mutate.mutant(text, 3) == mutate.mutant(text, 3)
    assert len({mutate.mutant(text, seed)[1] for seed in range(50)}) > 45
    names = {name for seed in range(300) for name in mutate.mutant(text, seed)[0].split(" + ")}
    assert names == set(mutate.MUTATIONS)


def test_the_outcome_tells_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(pl.io.model, "build", lambda place: 1 / 0)
    assert mutate.outcome(TEXT.encode(), tmp_path).startswith("ZeroDivisionError")


# ---------------------------------------------------------------- URDF


def test_truncated_urdf_is_refused(tmp_path):
    """Finding 16: 57 of 131 truncations were accepted."""
    whole = ARM.read_text().rstrip()
    path = tmp_path / "cut.urdf"
    for k in range(131):
        path.write_text(whole[: k * len(whole) // 131])
        with pytest.raises(pl.ModelFileError, match=r"cut.urdf:\d+:\d+: not complete XML"):
            pl.load_urdf(path)


BODY = '<inertial><mass value="1"/></inertial>'
URDF = {
    "doctype": ('<!DOCTYPE r [<!ENTITY a "aaa">]><robot name="r"><link name="a"/></robot>', "no document type"),
    "outside": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot name="r"><link name="a"/></robot>', "no document type"),
    "another root": ('<sdf><robot name="r"/></sdf>', "its root is <sdf>, but <robot> is needed"),
    "nothing": ('<robot name="r"/>', "it has no links"),
    "links of one name": ('<robot name="r"><link name="a"/><link name="a"/></robot>', "several links named 'a'"),
    "circle": (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j" type="fixed"><parent link="b"/><child link="c"/></joint>'
        '<joint name="k" type="fixed"><parent link="c"/><child link="b"/></joint></robot>',
        "link 'b' hangs on itself",
    ),
    "name": (f'<robot name="r"><link name="{"x" * 300}">{BODY}</link></robot>', "has 300 characters"),
    "mass": ('<robot name="r"><link name="a"><inertial><mass value="-1"/></inertial></link></robot>', "greater than zero"),
    "text": ('<robot name="r"><link name="a"><inertial><mass value="two"/></inertial></link></robot>', "value='two' is not allowed: a number is needed"),
}  # fmt: skip


@pytest.mark.parametrize("kind", URDF)
def test_wrong_urdf(kind, tmp_path):
    text, words = URDF[kind]
    path = tmp_path / "r.urdf"
    path.write_text(text)
    with pytest.raises(pl.ModelFileError, match=words):
        pl.load_urdf(path)


def test_friction_of_zero_is_no_friction(tmp_path, recwarn):
    """The parser gives it as text, which is true."""
    path = tmp_path / "r.urdf"
    path.write_text(
        f'<robot name="r"><link name="a">{BODY}</link><link name="b">{BODY}</link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><dynamics damping="0.5" friction="0"/></joint></robot>'
    )
    assert pl.load_urdf(path).link("b").joint.damping == 0.5
    assert not [w for w in recwarn if "friction" in str(w.message)]


# ---------------------------------------------------------------- YAML and JSON

HOSTILE = {
    "deep JSON": ('{"links":' + "[" * 100_000 + "]" * 100_000 + "}", "more than 200 brackets are open"),
    "deep mappings": ('{"links":' + '{"a":' * 150 + "1" + "}" * 150 + "}", "nested"),
    "deep lists": ("links: " + "[" * 150 + "]" * 150 + "\n", "nested deeper than 40 levels"),
    "deep blocks": ("\n".join(" " * k + f"a{k}:" for k in range(400)) + " 1\n", "nested too deeply"),
    "true key": (TEXT.replace("{cable:", "{true:"), r"\d+:\d+: simulation.u: the key true is not text"),
    "null key": (TEXT.replace("{cable:", "{null:"), r"\d+:\d+: simulation.u: the key null is not text"),
    "number key": (TEXT.replace("{cable:", "{1:"), "the key 1 is not text; .* in quotes"),
    "list key": (TEXT.replace("{cable:", "{[1, 2]:"), "the key .* is not text"),
    "anchor in itself": ("links: &a\n  <<: *a\n  arm: {type: body}\n", r"does an anchor \(&\) refer to itself"),
    "list in itself": ("links: &a [*a]\n", "is not allowed"),
    "aliases": (
        "a: &a [1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"{chr(98 + k)}: &{chr(98 + k)} [{','.join(['*' + chr(97 + k)] * 9)}]\n" for k in range(8)),
        "more than 200000 values",
    ),
    "tag": ("name: !!python/object/apply:os.system [true]\nlinks: {}\n", "text is needed"),
    "anchored flag": ("links: {b: {type: body, mass: &x true}}\n", "links.b.mass: True is not allowed: a number"),
    "two documents": ("links: {}\n---\nlinks: {}\n", "another document"),
    "NaN in JSON": ('{"links": {}, "gravity": [NaN, 0, 0]}', "'NaN' is unknown"),
    "key twice": ('{"links": {}, "links": {}}', "duplicate key"),
    "long number": ('{"links": {}, "gravity": [' + "9" * 5000 + ", 0, 0]}", "gravity|not valid"),
    "only a comment": ("# nothing\n", "it is empty"),
    "only spaces": (" \n ", "it is empty"),
    "nothing": ("", "it is empty: a model needs"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_refused(kind):
    text, words = HOSTILE[kind]
    with pytest.raises(pl.ModelFileError, match=words) as caught:
        pl.parse_model(text)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_what_is_too_large_is_not_parsed(suffix, tmp_path, monkeypatch):
    """Finding 16: 250 000 numbers took 28 s before their number was checked."""
    import ruamel.yaml

    monkeypatch.setattr(ruamel.yaml.YAML, "load", lambda *_: pytest.fail("parsed"))
    path = tmp_path / f"large{suffix}"
    path.write_text('{"links": {}, "gravity": [' + "1," * 250_000 + "1]}")
    with pytest.raises(pl.ModelFileError, match=r"it has about 25000\d values; at most .* 200000 values"):
        pl.load_model(path)
    path.write_text("# " + "x" * 10_000_001)
    with pytest.raises(ValueError, match=r"has 10000003 bytes; at most 10000000 are read of a model file"):
        pl.load_model(path)
    with pytest.raises(pl.ModelFileError, match=r"it has 10000003 characters; at most 10000000"):
        pl.parse_model(path.read_text())


def test_dictionaries_are_checked_like_files():
    own: dict = {}
    own["links"] = own
    with pytest.raises(pl.ModelFileError, match="nested deeper than 40 levels"):
        pl.parse_model(own)
    with pytest.raises(pl.ModelFileError, match="links: the key 1 is not text"):
        pl.parse_model({"links": {1: {"type": "body"}}})


@pytest.mark.parametrize("source", [3, None, [1], b"links: {}", object()])
def test_what_is_no_source(source):
    with pytest.raises(TypeError, match=r"path = .* must be the path of a model file"):
        pl.load_model(source)
    with pytest.raises(TypeError, match=r"content = .* must be the text of a model, or a dictionary"):
        pl.parse_model(source)


def test_paths_that_cannot_be_read(tmp_path):
    """Finding 18."""
    with pytest.raises(IsADirectoryError, match=r"cannot be read as a model file: it is a folder. Give the path"):
        pl.load_model(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        pl.load_model(tmp_path / "none.yaml")
    with pytest.raises(OSError, match="File name too long") as caught:
        pl.load_model("a" * 5000)
    assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match="null byte"):
        pl.load_model("a\0b")
    (tmp_path / "b.yaml").write_bytes(b"links: \xff\xfe{}")
    with pytest.raises(pl.ModelFileError, match=r"not a text file \(UTF-8 is needed; byte 7 is 0xff\)"):
        pl.load_model(tmp_path / "b.yaml")


def test_a_byte_order_mark_is_no_matter(tmp_path):
    for name, text in (("a.yaml", TEXT), ("a.json", FILES["json"][0].decode())):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert pl.load_model(tmp_path / name).robot.nv == 24


# ---------------------------------------------------------------- all errors at once


def test_a_bad_parent_hides_no_other_error():
    """Finding 18: what hangs on a link with a wrong parent is checked too."""
    text = """\
links:
  arm: {type: rod, parent: nowhere, length: 1, section: {type: Circle, radius: 0.02},
        material: {young: 1e6, poisson: 0.5, density: 1000}, strains: {bending: 1}}
  hand: {type: body, parent: arm.tip, joint: {type: Revolute, axis: [0, 0, 0]}, mass: 1}
  tool: {type: body, parent: arm.tipp, mass: -1}
frames:
  eye: {parent: arm@1.5}
actuators:
  cable: {type: tendon, path: arm, z: 0.03}
loads:
  push: {type: wrench, parent: arm.tip, force: [0, 0, 0]}
"""
    with pytest.raises(pl.ModelFileError) as caught:
        pl.parse_model(text)
    found = {problem.path: problem.message for problem in caught.value.problems}
    assert set(found) == {
        "links.arm.parent",
        "links.hand.joint.axis",
        "links.tool.parent",
        "links.tool.mass",
        "frames.eye.parent",
        "actuators.cable",
        "loads.push",
    }
    assert "'nowhere'" in found["links.arm.parent"]


def test_a_number_without_end_beside_a_formula() -> None:
    """Found by the soak: in a list with formulas, an infinite number raised a bare ValueError."""
    text = pl.io.starter_text().replace("strains:", 'reference_strain: [0, "X", .inf, 1, 0, 0]\n    strains:', 1)
    assert ".inf" in text
    with pytest.raises(pl.ModelFileError, match="is not a finite number"):
        pl.parse_model(text)


# ---------------------------------------------------------------- text is text, a path is a path


def test_text_is_never_taken_for_a_path(tmp_path, monkeypatch):
    """Text of one line was opened as a file of this machine."""
    monkeypatch.chdir(tmp_path)
    Path("secret.yaml").write_text(TEXT)
    for text in ("secret.yaml", str(tmp_path / "secret.yaml"), "./secret.yaml\n"):
        with pytest.raises(pl.ModelFileError, match="<text>"):
            pl.parse_model(text)
    with pytest.raises(OSError, match=r"A text is read by parse_model|there is no model file"):
        pl.load_model(TEXT)
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        pl.load_model('{"links": {}}')


@pytest.mark.parametrize(
    "loader", [pl.load_model, pl.load_urdf, pl.load_mjcf, pl.io.read_urdf, pl.io.read_mjcf, pl.Mesh.from_file, pl.io.from_sorosim]
)  # fmt: skip
def test_what_loads_a_file_takes_no_text(loader):
    for text in (TEXT, "<robot name='r'><link name='a'/></robot>", "<mujoco/>", "solid a\nendsolid", "v 0 0 0\n"):
        with pytest.raises((OSError, ValueError)):
            loader(text)


MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
NAMED = {
    "visual": "links: {{b: {{type: body, mass: 1, visual: {file}}}}}",
    "shape": "links: {{b: {{type: body, density: 1, shape: {{type: Mesh, file: {file}}}}}}}",
    "include": "links: {{}}\ninclude: {{file: {file}}}",
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_text_names_no_files(kind, tmp_path):
    """A text that came from elsewhere, such as a browser, may not have files of this machine read."""
    file = tmp_path / ("arm.urdf" if kind == "include" else "m.obj")
    file.write_text(f'<robot name="r"><link name="a">{BODY}</link></robot>' if kind == "include" else MESH)
    text = NAMED[kind].format(file=file)
    with pytest.raises(pl.ModelFileError, match=r"is not read: a text has no folder"):
        pl.parse_model(text)
    assert pl.parse_model(text, folder=tmp_path).robot.links


def test_a_dropped_file_opens_no_other(tmp_path):
    """What the page of the studio does with a file, without a browser."""
    from pliant.viz.studio import _read

    (tmp_path / "secret.yaml").write_text(TEXT)
    (tmp_path / "m.obj").write_text(MESH)
    for name in ("x.yaml", "x.yml", "x.json"):
        with pytest.raises(pl.ModelFileError, match=f"^{name}"):
            _read(name, str(tmp_path / "secret.yaml").encode())
        with pytest.raises(pl.ModelFileError, match="is not read: a text has no folder"):
            _read(name, NAMED["visual"].format(file=tmp_path / "m.obj").encode())
    law = (
        "links: {a: {type: rod, length: 1, section: {type: Circle, radius: 0.1}, strains: {bending: 0}, "
        "material: {young: 1, poisson: 0, density: 1}, law: {type: UserLaw, function: 'os:system'}}}"
    )
    with pytest.raises(pl.ModelFileError, match="is Python code"):
        _read("x.yaml", law.encode())
    assert _read("x.yaml", TEXT.encode()).robot.nv == 24


@pytest.mark.parametrize("kind", NAMED)
def test_files_are_read_from_the_own_folder_only(kind, tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, own / "below", other):
        folder.mkdir()
    content = f'<robot name="r"><link name="a">{BODY}</link></robot>' if kind == "include" else MESH
    end = "urdf" if kind == "include" else "obj"
    for folder in (own / "below", other):
        (folder / f"m.{end}").write_text(content)
    (own / f"link.{end}").symlink_to(other / f"m.{end}")
    (own / f"fine.{end}").symlink_to(own / "below" / f"m.{end}")
    (own / "folder").symlink_to(other)
    model = own / "r.yaml"
    for name in (f"below/m.{end}", f"below/../fine.{end}", own / "below" / f"m.{end}"):
        model.write_text(NAMED[kind].format(file=name))
        assert pl.load_model(model).robot.links
    outside = (f"../other/m.{end}", other / f"m.{end}", f"link.{end}", f"folder/m.{end}", f"below/../../other/m.{end}")
    for name in outside:
        model.write_text(NAMED[kind].format(file=name))
        with pytest.raises(pl.ModelFileError, match=r"outside of the folder.*folder=\.\.\., or --folder"):
            pl.load_model(model)
        assert pl.load_model(model, folder=tmp_path).robot.links
    for name in ("http://a.example/m.obj", "file:///etc/passwd", "'\\\\server\\share\\m.obj'", "//server/share/m.obj"):
        model.write_text(NAMED[kind].format(file=name))
        with pytest.raises(pl.ModelFileError, match="is not read: only paths in the own folder are, no addresses"):
            pl.load_model(model, folder="/")


def test_meshes_of_a_urdf_lie_in_its_package(tmp_path):
    """Beside it, and in the package that it is in; what leads out is a note."""
    arm = tmp_path / "src" / "arm"
    for folder in ("urdf", "meshes"):
        (arm / folder).mkdir(parents=True)
    (arm / "meshes" / "m.obj").write_text(MESH)
    (tmp_path / "m.obj").write_text(MESH)
    path = arm / "urdf" / "arm.urdf"

    def drawn(name, **options):
        mesh = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        path.write_text(f'<robot name="r"><link name="a">{BODY}{mesh}</link></robot>')
        read = pl.io.read_urdf(path, **options)
        return len(read.robot.link("a").content.visual), " ".join(read.notes)

    assert drawn("../meshes/m.obj")[0] == 0
    assert "outside of the folder" in drawn("../meshes/m.obj")[1]
    assert drawn("../meshes/m.obj", folder=arm)[0] == 1
    (arm / "package.xml").write_text("<package/>")
    for name in ("../meshes/m.obj", "package://arm/meshes/m.obj", "package://other_name/meshes/m.obj", f"file://{arm}/meshes/m.obj"):  # fmt: skip
        assert drawn(name) == (1, "")
    for name, why in (
        ("package://arm/../../m.obj", "outside"),
        ("../../../m.obj", "outside"),
        (f"file://{tmp_path}/m.obj", "outside"),
        ("http://a.example/m.obj", "no addresses"),
        ("package://m.obj", "not found"),
    ):
        count, notes = drawn(name)
        assert count == 0
        assert why in notes


def test_a_saved_model_names_its_meshes_from_its_folder(tmp_path):
    """So that the folder can be moved, and the model is read again."""
    (tmp_path / "own" / "meshes").mkdir(parents=True)
    for place in (tmp_path / "own" / "meshes" / "m.obj", tmp_path / "m.obj"):
        place.write_text(MESH)
    robot = pl.Robot("cart")
    robot.add_body("cart", mass=1.0, visual=pl.Visual(file=str(tmp_path / "own" / "meshes" / "m.obj")))
    for name in ("r.yaml", "r.json"):
        robot.save(tmp_path / "own" / name)
        assert str(tmp_path) not in (tmp_path / "own" / name).read_text()
        assert pl.load_model(tmp_path / "own" / name).robot.link("cart").content.visual
    robot.add_body("other", mass=1.0, visual=pl.Visual(file=str(tmp_path / "m.obj")))
    with pytest.warns(UserWarning, match=r"'other'.*lies outside of the folder.*folder="):
        robot.save(tmp_path / "own" / "r.yaml")
    assert pl.load_model(tmp_path / "own" / "r.yaml", folder=tmp_path).robot.link("other").content.visual


# ---------------------------------------------------------------- many errors

MANY = {
    "keys": "links: {b: {type: body, mass: 1}}\n" + "".join(f"wrong{k}: 1\n" for k in range(2000)),
    "materials": "links:\n" + "".join(f"  r{k}: {{type: rod, material: m{k}}}\n" for k in range(800)),
    "names": "links: {b: {type: body, mass: 1}}\nstatics: {u: {" + ", ".join(f"w{k}: 1" for k in range(2000)) + "}}\n",
}


@pytest.mark.parametrize("kind", MANY)
def test_the_first_of_many_problems_are_told(kind):
    """60 000 wrong keys took 10 s beyond parsing, and gave as many problems."""
    with pytest.raises(pl.ModelFileError, match=r"^the first 50 problems in <text>, and \d{3,} more:\n") as caught:
        pl.parse_model(MANY[kind])
    assert len(caught.value.problems) == 50
    assert caught.value.more > 700
    assert len(str(caught.value)) < 20_000
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems, again.more) == (str(caught.value), caught.value.problems, caught.value.more)


def test_comparing_names_ends_when_there_are_problems_enough(monkeypatch):
    import difflib

    count = 0
    real = difflib.get_close_matches

    def counted(word, possibilities, *args, **options):
        nonlocal count
        count += 1
        assert len(possibilities) <= 1000
        return real(word, possibilities, *args, **options)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    for text in MANY.values():
        with pytest.raises(pl.ModelFileError):
            pl.parse_model(text)
    bodies = "".join(f"  body{k}: {{type: body, mass: 1}}\n" for k in range(1100))
    tendons = "".join(f"  t{k}: {{type: tendon, path: body_{k}}}\n" for k in range(100))
    with pytest.raises(pl.ModelFileError, match=r"the first 50 problems .*; what comes after them was not looked at"):
        pl.parse_model(f"links:\n{bodies}actuators:\n{tendons}")
    assert count < 300


def test_too_many_parts():
    with pytest.raises(pl.ModelFileError, match="it has 5001 parts; at most 5000 are read"):
        pl.parse_model({"links": {f"b{k}": {"type": "body", "mass": 1} for k in range(5001)}})


@pytest.mark.parametrize("name", ["wrong\x1b[2Jkey", "a\nb", "\u202egnp.exe", "\x07", "x\r", "\u2028"])
def test_messages_show_what_a_terminal_would_do(name):
    """Keys and names of a file are written as escapes where they are no plain text."""
    for content in (
        {"links": {}, name: 1},
        {"links": {name: {"type": "body", "mass": 1}}},
        {"links": {"a": {"type": name}}},
    ):
        with pytest.raises(pl.ModelFileError) as caught:
            pl.parse_model(content, name=f"file{name}")
        lines = str(caught.value).split("\n")
        assert all(line.isprintable() for line in lines)
        assert len(lines) == len(caught.value.problems) + (len(caught.value.problems) > 1)
