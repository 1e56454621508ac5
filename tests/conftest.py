"""Kernels are compiled once before a parallel run; each worker then loads them from the cache."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    """In the process that starts the workers, before it does. What fails here will fail in a test, and be told there."""
    if not os.environ.get("NUMBA_DISABLE_JIT"):
        subprocess.run([sys.executable, str(Path(__file__).parent / "warm.py")], check=False)


@pytest.fixture(autouse=True)
def _close_figures():
    """No test leaves figures open, which matplotlib would warn of in a later one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
