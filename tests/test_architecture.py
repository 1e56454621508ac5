"""The shape of the package: who may import whom, and that public names exist."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pliant

ROOT = Path(pliant.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if ROOT / "examples" not in path.parents)  # which a wheel carries
MODULES = {
    ".".join(["pliant", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in FILES
}


def is_type_checking(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def imports(module: str, *, inside_functions: bool) -> set[str]:
    """Absolute names of the modules (or names in them) that a module imports, except for type checking."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if is_type_checking(node):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not inside_functions:
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                name = f"{base}.{alias.name}"
                found.add(name if name in MODULES else base)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text()))
    return found - {"__future__"}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


KERNELS = [m for m in MODULES if within(m, "pliant.kernels")]
MODEL = [m for m in MODULES if within(m, "pliant.model")]
PUBLIC = [m for m in MODULES if not within(m, "pliant.kernels")]


def test_the_import_finder_sees_what_it_should():
    """The rules below would hold for an empty set too."""
    assert len(KERNELS) > 10
    assert len(MODEL) > 5
    assert {"pliant._jit", "pliant.kernels.algebra.dual", "numpy", "math"} <= imports(
        "pliant.kernels.algebra.exponential", inside_functions=True
    )
    assert "numba" in imports("pliant._numba", inside_functions=False)
    assert "pliant.kernels.layout" in imports("pliant.compile.assembly", inside_functions=False)
    assert any(within(name, "pliant.kernels") for name in imports("pliant.system.core", inside_functions=False))
    assert "pliant.model.pose" in imports("pliant.model.robot", inside_functions=False)
    assert "pliant.system" in imports("pliant.model.robot", inside_functions=True)
    assert "pliant.system" not in imports("pliant.model.robot", inside_functions=False)


@pytest.mark.parametrize("module", KERNELS)
def test_kernels_know_only_kernels(module):
    allowed = {"numpy", "math", "typing", *sys.stdlib_module_names}
    for name in imports(module, inside_functions=True):
        ours = (
            name in ("pliant._jit", "pliant._call")
            or name.startswith(("pliant._jit.", "pliant._call."))
            or within(name, "pliant.kernels")
        )
        assert ours or (not within(name, "pliant") and name.split(".")[0] in allowed), f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_only_one_file_imports_numba(module):
    names = {name.split(".")[0] for name in imports(module, inside_functions=True)}
    assert ("numba" in names or "llvmlite" in names) == (module == "pliant._numba")


def private_names(module: str, roots: tuple[str, ...]) -> set[str]:
    """Attributes that begin with an underscore, of anything but `self` and `cls`, and imports from inside a package."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                found.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(roots):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("_"):
            found.add(node.value)
    return found


def test_only_one_file_touches_private_names_of_numba():
    """Nor does any other reach for them through what numba made: its dispatchers and C functions."""
    private = {name for name in private_names("pliant._numba", ("numba.core",)) if not name.startswith("__")}
    assert {
        "_compiler",
        "_cache",
        "_reduce",
        "_rebuild",
        "_optimize_final_module",
        "CPUCodeLibrary",
        "CFunc",
    } <= private
    for module in MODULES:
        if module != "pliant._numba":
            assert not private & private_names(module, ("numba",)), module


@pytest.mark.parametrize("module", MODEL)
def test_descriptions_do_not_import_what_computes(module):
    """A robot can be described without compiled code: `compile` alone reaches for the system, when it is called."""
    for name in imports(module, inside_functions=False):
        if within(name, "pliant"):
            allowed = within(name, "pliant.model")
            assert allowed, f"{module} imports {name}"


# each room may import, when it is loaded, what stands before it
ROOMS = (
    "kernels",
    "model",
    "compile",
    "system",
    "solve",
    "analysis",
    "gradients",
    "control",
    "estimation",
    "identification",
    "io",
    "many",
    "viz",
    "papers",
    "gym",
    "cli",
)


@pytest.mark.parametrize("module", [m for m in MODULES if m.count(".") > 1])
def test_rooms_import_in_one_direction(module):
    room = module.split(".")[1]
    assert room in ROOMS
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for name in imports(module, inside_functions=False):
        other = name.split(".")[1:2]
        if within(name, "pliant") and other and other[0] in ROOMS:
            assert other[0] in allowed, f"{module} imports {name}"


@pytest.mark.parametrize("module", PUBLIC)
def test_viewers_are_loaded_when_they_are_asked_for(module):
    """Results have methods that open viewers, so these names are imported inside functions; the package offers `viz.show`."""
    names = imports(module, inside_functions=False)
    assert "viser" not in {name.split(".")[0] for name in names}
    if not within(module, "pliant.viz"):
        viewers = {name for name in names if within(name, "pliant.viz")}
        assert viewers <= ({"pliant.viz.show"} if module == "pliant" else set())


# modules for other programs, each of which needs one library that may be missing
ROUTES = {"pliant.control.optimal.transcription": "casadi"}  # which a function imports when it is called
ADAPTERS = {f"pliant.{library}": library for library in ("torch", "jax", "casadi", "crocoddyl")}


@pytest.mark.parametrize("module", MODULES)
def test_adapters_stand_outside(module):
    """Nobody imports them but their users; each imports its own library, and nobody else does."""
    names = imports(module, inside_functions=True)
    assert not names & set(ADAPTERS)
    libraries = {name.split(".")[0] for name in names} & set(ADAPTERS.values())
    assert libraries == ({(ADAPTERS | ROUTES)[module]} if module in ADAPTERS | ROUTES else set())
    assert not {name.split(".")[0] for name in imports(module, inside_functions=False)} & (
        {ROUTES.get(module)} - {None}
    )


@pytest.mark.parametrize("module", MODULES)
def test_only_environments_know_gymnasium(module):
    libraries = {name.split(".")[0] for name in imports(module, inside_functions=True)}
    assert within(module, "pliant.gym") or not libraries & {"gymnasium", "stable_baselines3"}


def test_imports_of_kernels_have_no_cycles():
    graph = {m: {n for n in imports(m, inside_functions=True) if within(n, "pliant.kernels")} - {m} for m in KERNELS}
    done: set[str] = set()

    def follow(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join([*path, module])
        if module not in done:
            for name in graph[module]:
                follow(name, (*path, module))
            done.add(module)

    for module in graph:
        follow(module, ())
    assert done == set(KERNELS)


def definitions(module: str) -> set[str]:
    """Names that a module defines itself (not what it imports)."""
    names: set[str] = set()
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_listed_and_exist(module):
    if not definitions(module):
        pytest.skip("defines nothing")
    if module in ADAPTERS:
        pytest.importorskip(ADAPTERS[module], exc_type=ImportError)
    if within(module, "pliant.gym"):
        pytest.importorskip("stable_baselines3" if module.endswith(".stable") else "gymnasium", exc_type=ImportError)
    loaded = import_module(module)
    listed = loaded.__all__
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert hasattr(loaded, name), f"{module}.{name}"
        if MODULES[module].name != "__init__.py":
            assert name in definitions(module), f"{module} lists {name} but does not define it"


def test_every_name_of_the_package_exists_and_is_documented():
    assert pliant.__all__ == sorted(pliant.__all__)
    for name in pliant.__all__:
        assert getattr(pliant, name).__doc__, name


def test_every_file_says_what_it_is():
    for module, path in MODULES.items():
        assert ast.get_docstring(ast.parse(path.read_text())), module
