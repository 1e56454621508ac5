"""Puts the examples into the wheel, where `pliant.gallery` finds them; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EXAMPLES = sorted(Path("examples").glob("*.py"))


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


setup(cmdclass={"build_py": BuildWithExamples})
