"""Coefficients of the Runge–Kutta methods: explicit first stage, one diagonal, the last stage is the end of the step."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["ESDIRK3", "ESDIRK5", "EULER", "MIDPOINT", "SDIRK2", "SDIRK3", "Tableau"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An ESDIRK method with its embedded estimate.

    Attributes
    ----------
    name : str
    order, embedded : int
        Orders of the method and of the embedded one.
    a : ndarray (s, s)
        Coefficients of the stages; the last row is b.
    b_hat : ndarray (s,)
        Weights of the embedded method.
    c : ndarray (s,)
        Times of the stages in the step.
    filtered : bool
        Whether the estimate needs the damping of an implicit step, because the embedded method does not vanish for infinitely stiff parts.
    """

    name: str
    order: int
    embedded: int
    a: Array
    b_hat: Array
    filtered: bool

    @property
    def b(self) -> Array:
        """Weights of the method."""
        return self.a[-1]

    @property
    def c(self) -> Array:
        """Times of the stages in the step."""
        return self.a.sum(axis=1)

    @property
    def damps(self) -> bool:
        """Whether the last stage is implicit, so that what is infinitely stiff vanishes."""
        return bool(self.a[-1, -1] > 0.0)

    @property
    def gamma(self) -> float:
        """The diagonal."""
        return float(self.a[1, 1])


def _matrix(gamma: float, below: list[list[float]], c: list[float], last: list[float]) -> Array:
    """Rows of a from what stands between the first column and the diagonal; the first column follows from c."""
    s = len(c)
    a = np.zeros((s, s))
    for i in range(1, s - 1):
        a[i, 1:i] = below[i - 1]
        a[i, i] = gamma
        a[i, 0] = c[i] - a[i].sum()
    a[-1] = last
    return a


def _esdirk3() -> Tableau:
    r = sqrt(2.0)
    g = 9 / 40
    b1 = (2398 + 1205 * r) / (2835 * (4 + 3 * r))
    b = [b1, b1, -2374 * (1 + 2 * r) / (2835 * (5 + 3 * r)), 5827 / 7560, g]
    d1 = (5547709 * r - 4800247) / 16519545
    b_hat = [d1, d1, 11095418 * (1 - r) / 16519545, 30698249 / 44052120, 49563 / 233080]
    a32, a42, a43 = 9 * (1 + r) / 80, (22 + 15 * r) / (80 * (1 + r)), -7 / (40 * (1 + r))
    c = [0.0, 2 * g, 9 * (2 + r) / 40, 3 / 5, 1.0]
    return Tableau("esdirk3", 3, 2, _matrix(g, [[], [a32], [a42, a43]], c, b), np.array(b_hat), filtered=False)


def _esdirk5() -> Tableau:
    g = 23 / 125
    b = [
        0.0,
        -188593204321 / 4778616380481,
        2809310203510 / 10304234040467,
        1021729336898 / 2364210264653,
        870612361811 / 2470410392208,
        -1307970675534 / 8059683598661,
        g,
    ]
    b_hat = [
        0.0,
        -582099335757 / 7214068459310,
        615023338567 / 3362626566945,
        3192122436311 / 6174152374399,
        6156034052041 / 14430468657929,
        -1011318518279 / 9693750372484,
        1914490192573 / 13754262428401,
    ]
    b[0], b_hat[0] = 1.0 - sum(b), 1.0 - sum(b_hat)
    below = [
        [],
        [791020047304 / 3561426431547],
        [-158159076358 / 11257294102345, -85517644447 / 5003708988389],
        [-1653327111580 / 4048416487981, 1514767744496 / 9099671765375, 14283835447591 / 12247432691556],
        [
            -4540011970825 / 8418487046959,
            -1790937573418 / 7393406387169,
            10819093665085 / 7266595846747,
            4109463131231 / 7386972500302,
        ],
    ]
    c = [0.0, 46 / 125, 7121331996143 / 11335814405378, 49 / 353, 3706679970760 / 5295570149437, 347 / 382, 1.0]
    return Tableau("esdirk5", 5, 4, _matrix(g, below, c, b), np.array(b_hat), filtered=True)


def _sdirk(name: str, order: int, rows: list[list[float]]) -> Tableau:
    """A method without memory: no stage has a share of the acceleration at the start. There is no error estimate."""
    a = np.zeros((len(rows) + 1, len(rows) + 1))
    for i, row in enumerate(rows, start=1):
        a[i, 1 : 1 + len(row)] = row
    return Tableau(name, order, order, a, a[-1].copy(), filtered=False)


def _sdirk3() -> Tableau:
    g = 0.43586652150845899942  # the root of x³ − 3x² + 3x/2 − 1/6 for which it is L-stable
    b1, b2 = -(6 * g * g - 16 * g + 1) / 4, (6 * g * g - 20 * g + 5) / 4
    return _sdirk("sdirk3", 3, [[g], [(1 - g) / 2, g], [b1, b2, g]])


EULER = _sdirk("euler", 1, [[1.0]])
"""The implicit Euler rule."""

SDIRK2 = _sdirk("sdirk2", 2, [[1 - sqrt(0.5)], [sqrt(0.5), 1 - sqrt(0.5)]])
"""L-stable, two stages (Alexander, SIAM J. Numer. Anal. 14, 1977)."""

SDIRK3 = _sdirk3()
"""L-stable, three stages (Alexander, likewise)."""

ESDIRK3 = _esdirk3()
"""ESDIRK3(2)5L[2]SA of Kennedy and Carpenter (NASA/TM-2016-219173): L-stable, its estimate too."""

ESDIRK5 = _esdirk5()
"""ESDIRK5(4)7L[2]SA2 of Kennedy and Carpenter (Applied Numerical Mathematics 146, 2019)."""

MIDPOINT = Tableau(
    "midpoint",
    2,
    2,
    np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 1.0, 0.0]]),
    np.array([0.0, 1.0, 0.0]),
    filtered=False,
)
"""The implicit midpoint rule; its last stage is explicit, and there is no error estimate."""
