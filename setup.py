"""What pyproject.toml cannot say: examples go into the wheel, and with ``PLIANT_BUILD_NATIVE=1`` machine code of all kernels too.

The examples go to pliant/examples, where `pliant.gallery` finds them. Machine code is the extension module `pliant._machine_code` (see `native/`), in a
wheel for one platform and any Python from 3.11 on; without the variable the wheel is pure, and numba compiles when pliant is used.
"""

import os
import runpy
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

EXAMPLES = sorted(
    [*Path("examples").glob("*.py"), *Path("examples").glob("models/*.yaml"), *Path("examples").glob("data/*.json")]
)
NATIVE = os.environ.get("PLIANT_BUILD_NATIVE", "") not in ("", "0")


class BuildWithExamples(build_py):
    """Copies examples/ to pliant/examples/; an editable installation finds them in the source tree."""

    def _copies(self):
        return [] if self.editable_mode else [Path(self.build_lib, "pliant", path) for path in EXAMPLES]

    def run(self):
        """Build the package, then copy."""
        super().run()
        for source, target in zip(EXAMPLES, self._copies()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def get_outputs(self, include_bytecode=True):
        """Every file of the wheel."""
        return [*super().get_outputs(include_bytecode), *map(str, self._copies())]


class BuildMachineCode(build_ext):
    """Compiles the kernels, and links them with the module's C file."""

    def build_extension(self, ext):
        """Kernels first."""
        made = runpy.run_path(str(Path("native", "build.py")))["build"]()
        ext.include_dirs.append(str(made.include))
        ext.extra_objects += map(str, made.objects)
        super().build_extension(ext)


def native():
    """The arguments of `setup` for a wheel with machine code."""
    posix = os.name == "posix"
    module = Extension(
        "pliant._machine_code",
        ["native/machine_code.c"],
        depends=["native/build.py"],
        py_limited_api=True,
        extra_compile_args=["-O2", "-fvisibility=hidden"] if posix else [],
        extra_link_args=["-Wl,-s", "-lm"] if sys.platform == "linux" else [],
    )
    return {
        "ext_modules": [module],
        "options": {"bdist_wheel": {"py_limited_api": "cp311"}},
        "setup_requires": ["numpy>=1.26", "scipy>=1.11", "numba>=0.60,<0.69"],  # to compile kernels with
    }


setup(cmdclass={"build_py": BuildWithExamples, "build_ext": BuildMachineCode}, **(native() if NATIVE else {}))
