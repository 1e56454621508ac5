"""Functions of X or t in a model file: numbers, tapers, formulas, tables, steps and signals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..model.rods.sections import Stepped
from ..model.routing import Table
from ..model.signal import Signal
from .expressions import Expression, constant
from .kinds import (
    Kind,
    Number,
    Schema,
    WriteError,
    any_of,
    array_schema,
    fits,
    flat,
    is_number,
    nested,
    plain,
    real,
    shape_name,
    shaped,
    shown,
)
from .records import Record, Variants
from .source import FAILED, Place

__all__ = ["Function"]

_POINTWISE = Variants("function of X", [Record("Table", Table), Record("Stepped", Stepped)], default="Table")
_SIGNAL = Record("Signal", Signal)


def _function_error(path: str, *, scalar: bool = True, variable: str = "X") -> WriteError:
    """The error for a Python function in a robot that is to be written."""
    formula = f"0.02*(1 - {variable}/2)" if scalar else ["0", f"2*{variable}", "0"]
    table = ", or a pl.Signal of values" if variable == "t" else ", or a pl.Table of values" if scalar else ""
    return WriteError(
        f"{path} is a Python function, which cannot be written to a model file. Give a formula instead, such as "
        f"pl.Expression({formula!r}){table}."
    )


class Function(Kind):
    """A function of one variable: a number, a formula, for scalars a taper or table, for others lists of formulas."""

    def __init__(self, *shapes: tuple[int, ...], variable: str = "X") -> None:
        self.shapes = shapes or ((),)
        self.variable = variable
        self.tabled = () in self.shapes and variable == "X"
        forms = [f"a number, a formula of {variable}" if shape == () else shape_name(shape) for shape in self.shapes]
        if self.tabled:
            forms[0] = (
                "a number, a pair [at X=0, at X=1], a formula of X, a table {X: […], values: […]} or {type: Stepped, values: […]}"
            )
        if variable == "t":
            forms.append("a signal {t: […], values: […]}")
        self.wanted = " or ".join(forms)

    def inner(self) -> Iterable[Kind]:
        return [_SIGNAL] if self.variable == "t" else [_POINTWISE] if self.tabled else []

    def read(self, place: Place) -> Any:
        if place.is_mapping and self.tabled:
            return _POINTWISE.read(place)
        if place.is_mapping and self.variable == "t":
            return self._signal(place)
        value = nested(place, self._entry)
        if value is FAILED:
            return FAILED
        if not any(isinstance(v, str) and Expression(v).variable for v in flat(value)):
            value = _numbers(value)
        shape = np.shape(shaped(value))
        if self.tabled and shape == (2,) and all(isinstance(v, float) for v in value):
            return tuple(value)
        if not fits(shape, self.shapes):
            return self.wrong(place)
        return Expression(value) if any(isinstance(v, str) for v in flat(value)) else value

    def _signal(self, place: Place) -> Any:
        """A signal with as many components as are needed."""
        signal = _SIGNAL.read(place)
        if signal is not FAILED and not fits(signal.shape, self.shapes):
            has = f"rows of {signal.shape[0]} values" if signal.shape else "single values"
            needed = " or ".join(shape_name(shape) for shape in self.shapes if len(shape) < 2)
            return place.fail(f"the signal has {has}, but at each time {needed} is needed.")
        return signal

    def _entry(self, place: Place) -> Any:
        """A number, or the checked text of a formula."""
        if not isinstance(place.value, str):
            if not is_number(place.value):
                return self.wrong(place)
            number = real(place.value)
            return number if abs(number) < 1e308 else place.fail(f"{shown(place.value)} is not a finite number.")
        try:
            expression = Expression(str(place.value))
        except ValueError as error:
            return place.fail(str(error))
        if expression.variable not in (None, self.variable):
            return place.fail(
                f"{shown(place.value)} depends on {expression.variable}, but here the variable is {self.variable}."
            )
        return str(place.value)

    def write(self, value: Any, path: str) -> Any:
        if isinstance(value, Expression):
            if value.variable not in (None, self.variable):
                raise WriteError(
                    f"{path} = {value!r} depends on {value.variable}, but must be a function of {self.variable}."
                )
            return plain(value.plain())
        if isinstance(value, Signal) and self.variable == "t":
            return _SIGNAL.write(value, path)
        if isinstance(value, (Table, Stepped)):
            return _POINTWISE.write(value, path)
        if callable(value):
            raise _function_error(path, scalar=() in self.shapes, variable=self.variable)
        return plain(np.asarray(value, dtype=float).tolist())

    def schema(self, defs: Schema) -> Schema:
        entry = {"anyOf": [{"type": "number"}, {"type": "string", "minLength": 1}]}
        name = f"formula_of_{self.variable}"
        defs.setdefault(name, {"description": f"A number, or a formula of {self.variable}.", **entry})
        reference = {"$ref": f"#/$defs/{name}"}
        options = [array_schema(shape, reference) for shape in self.shapes]
        if self.tabled:
            options += [array_schema((2,), Number().schema(defs)), _POINTWISE.schema(defs)]
        if self.variable == "t":
            options.append(_SIGNAL.schema(defs))
        return any_of(options)


def _numbers(value: Any) -> Any:
    """Nested lists with formulas without variables replaced by their values."""
    if isinstance(value, list):
        return [_numbers(entry) for entry in value]
    return constant(value) if isinstance(value, str) else value
