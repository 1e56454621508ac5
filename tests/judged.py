"""Equilibria that examples and papers use: each is stable, or neutral, or asked for as it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import pliant as pl


@contextmanager
def judged() -> Iterator[list[pl.Equilibrium]]:
    """Look at all equilibria that are found meanwhile; error at the end if one is unstable that was to be stable (``stable=True``, the default)."""
    solve, wrong = pl.solve_statics, []

    def look(*arguments: Any, **options: Any) -> pl.Equilibrium:
        rest = solve(*arguments, **options)
        if rest.success and options.get("stable", True) and rest.stability not in ("stable", "neutral"):
            wrong.append(rest)
        return rest

    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("pliant") and getattr(module, "solve_statics", None) is solve:
                patch.setattr(module, "solve_statics", look)
        yield wrong
    assert not wrong, "\n".join(str(rest) for rest in wrong[:5])
