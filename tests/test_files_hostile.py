"""Files that are broken, cut off, absurd or malicious: loaded, or refused with a clear message; nothing else."""

from __future__ import annotations

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
    "json": (pl.io.dump_model(pl.load_model(TEXT), format="json").encode(), ".json"),
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
    "nothing": ("", "it is empty; give the path of a model file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_refused(kind):
    text, words = HOSTILE[kind]
    with pytest.raises(pl.ModelFileError, match=words) as caught:
        pl.load_model(text)
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
    with pytest.raises(pl.ModelFileError, match=r"it has 1000000\d characters; at most 10000000"):
        pl.load_model(path)


def test_dictionaries_are_checked_like_files():
    own: dict = {}
    own["links"] = own
    with pytest.raises(pl.ModelFileError, match="nested deeper than 40 levels"):
        pl.load_model(own)
    with pytest.raises(pl.ModelFileError, match="links: the key 1 is not text"):
        pl.load_model({"links": {1: {"type": "body"}}})


@pytest.mark.parametrize("source", [3, None, [1], b"links: {}", object()])
def test_what_is_no_source(source):
    with pytest.raises(TypeError, match=r"source = .* must be the path of a model file, its text, or a dictionary"):
        pl.load_model(source)


def test_paths_that_cannot_be_read(tmp_path):
    """Finding 18."""
    with pytest.raises(IsADirectoryError, match=r"cannot be read as a model file: Is a directory. Give the path"):
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
        pl.load_model(text)
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
        pl.load_model(text)
