"""Every row of every loop joint against the complex step, as plain Python (NUMBA_DISABLE_JIT=1); run by test_loop_turns.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pliant as pl
from pliant.compile.families.loops import KINDS
from pliant.kernels.loads import rows
from pliant.kernels.loads.rows import LOG, SWING

JOINTS = {
    "fixed": pl.Fixed(),
    "revolute": pl.Revolute((1, 2, 3)),
    "prismatic": pl.Prismatic((1, -2, 1)),
    "helical": pl.Helical((0, 1, 2), pitch=-0.2),
    "flat": pl.Helical((0, 1, 2), pitch=0.0),
    "universal": pl.Universal("x", (0, 1, 0.3)),
    "cylindrical": pl.Cylindrical((2, 1, 0)),
    "planar": pl.Planar((1, 1, 1)),
    "spherical": pl.Spherical(),
    "slot": pl.Slot((1, 2, 0)),
    "one": pl.Rows("x", "z"),
    "two": pl.Rows("", "yz"),
    "distance": pl.Distance(0.3),
    "ball": pl.Rolling(0.1, normal=(1, 0, 2)),
    "wheel": pl.Rolling(0.1, axis=(0, 1, 0.2)),
    "skate": pl.Skate((1, 1, 0)),
}
ANGLES = (0.0, 1e-9, 1e-4, 0.03, 0.5, 1.0, 1.5, 2.0, 3.1, *(np.pi + d for d in (-1e-5, -1e-9, 1e-9, 1e-4)))
STEP = 1e-40


def exponential(w: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) of a rotation vector."""
    angle = np.linalg.norm(w)
    K = hat(w)
    if angle == 0.0:
        return np.eye(3)
    return np.eye(3) + np.sin(angle) / angle * K + 2 * (np.sin(angle / 2) / angle) ** 2 * K @ K


def hat(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


class Place:
    """Two frames, and a motion of the second as seen from the first: twist and acceleration (6,) at the origin."""

    def __init__(self, A: Any, B: Any, pa: Any, pb: Any, eta: Any, rate: Any) -> None:
        self.A, self.B, self.pa, self.pb, self.eta, self.rate = A, B, pa, pb, eta, rate

    def wrench(self, kind: int, data: np.ndarray) -> tuple[Any, np.ndarray]:
        """Value, and (M, F)."""
        value, M, F = rows.row_wrench(kind, data, *map(flat, (self.A, self.B, self.pb - self.pa)))
        return value, np.array([*M, *F])

    def jet(self, kind: int, data: np.ndarray, change: np.ndarray) -> np.ndarray:
        """With a change (18,) of displacement, twist and acceleration."""
        place = rows.row_place(kind, data, flat(self.A), flat(self.B))
        twists = (self.eta, self.rate, *change.reshape(3, 6))
        turn, slide = (tuple(tuple(x[part]) for x in twists) for part in (slice(3), slice(3, 6)))
        return np.array(rows.row_jet(kind, data, place, flat(self.pa), flat(self.pb), turn, slide))

    def changed(self, change: np.ndarray) -> Place:
        """A little further, as complex numbers."""
        d, eta, rate = 1j * STEP * change.reshape(3, 6)
        B = self.B + hat(d[:3]) @ self.B
        pb = self.pb + d[3:] + np.cross(d[:3], self.pb)
        return Place(self.A.astype(complex), B, self.pa.astype(complex), pb, self.eta + eta, self.rate + rate)


def flat(x: Any) -> tuple[Any, ...]:
    return tuple(np.ravel(x))


def cases() -> Iterator[tuple[str, str, float, int, np.ndarray, Place]]:
    """Each row and coordinate of each joint at relative rotations by each angle."""
    rng = np.random.default_rng(0)
    for name, joint in JOINTS.items():
        for kind, data, what in [*joint.constraints(), *joint.coordinates()]:
            for angle in ANGLES:
                axis = rng.normal(size=3)
                A = exponential(rng.normal(size=3))
                B = A @ exponential(angle * axis / np.linalg.norm(axis))
                pa, pb = rng.normal(size=(2, 3))
                yield name, what, angle, int(KINDS[kind]), data, Place(A, B, pa, pb, *rng.normal(size=(2, 6)))


def check(kind: int, data: np.ndarray, place: Place, rng: np.random.Generator) -> float:
    """The largest error of wrench, its derivative, and jet, relative to their size."""
    value, wrench = place.wrench(kind, data)
    errors = []
    # the wrench is the derivative of the value, its matrix that of the wrench, by (δθ, δp_B)
    P, exact, slope = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6)
    rows.add_row_matrix(kind, data, flat(place.A), flat(place.B), tuple(place.pa), tuple(place.pb), 0.7, P)
    for k in range(6):
        change = np.zeros(18)
        change[k] = 1.0
        if k < 3:  # about p_B
            change[3:6] = -np.cross(change[:3], place.pb)
        moved = place.changed(change).wrench(kind, data)
        slope[k], exact[:, k] = np.imag(moved[0]) / STEP, moved[1].imag / STEP
    if not rows.is_rate(kind):
        errors.append(np.abs(slope - wrench).max() / max(1.0, np.abs(wrench).max()))
    errors.append(np.abs(P - 0.7 * exact).max() / max(1.0, np.abs(P).max()))
    # the jet's variation is the derivative of value, rate and acceleration; those are derivatives of each other
    change = rng.normal(size=18)
    jet = place.jet(kind, data, change)
    moved = place.changed(change).jet(kind, data, np.zeros(18))
    size = max(1.0, np.abs(jet).max())
    errors.append(np.abs(jet[3:] - moved[:3].imag / STEP).max() / size)
    velocity = np.concatenate([place.eta[:3], place.eta[3:] + np.cross(place.eta[:3], place.pb)])
    errors.append(abs(jet[1] - wrench @ velocity) / size)
    along = place.jet(kind, data, np.concatenate([place.eta, place.rate, np.zeros(6)]))
    errors.append(abs(along[2] - along[4]) / max(1.0, np.abs(along).max()))
    if not rows.is_rate(kind):
        errors += [abs(jet[0] - value) / size, abs(along[1] - along[3]) / max(1.0, np.abs(along).max())]
    return float(max(errors))


def rounding(kind: int, data: np.ndarray, place: Place) -> float:
    """What rounding of the frames leaves of the direction of a swing, near half a turn."""
    if kind != SWING:
        return 0.0
    n, axis = place.A @ data[9:12], place.B @ data[6:9]
    return 2e-15 / float(np.linalg.norm(np.cross(n, axis))) if n @ axis < 0.0 else 0.0


def main() -> None:
    rng = np.random.default_rng(1)
    worst = 0.0
    for name, what, angle, kind, data, place in cases():
        error = check(kind, data, place, rng)
        assert error < 1e-13 + rounding(kind, data, place), (name, what, angle, error)
        worst = max(worst, error)
        if kind in (LOG, SWING) and angle > 3.1:  # no larger than what is left, and no number that is none
            value, wrench = place.wrench(kind, data)
            assert abs(value) < np.pi + 1e-4
            assert np.all(np.isfinite(wrench))
    half_turns()
    lost_directions()
    print(f"{worst:.1e}")


def half_turns() -> None:
    """Exactly half a turn about any axis, in any orientation of both frames: all that is left of it, one of two ways, the same one everywhere."""
    rng = np.random.default_rng(2)
    for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, -1, 1], [-1, 2, 3], [0.1, 0.2, -1]):
        n = np.array(axis) / np.linalg.norm(axis)
        seen = []
        for turn in (*np.pi * np.array([1, -1, 3]), np.pi + 1e-13, np.pi - 1e-13):
            A = exponential(rng.normal(size=3))
            place = Place(A, A @ exponential(turn * n), *rng.normal(size=(2, 3)), np.zeros(6), np.zeros(6))
            left = [place.wrench(int(KINDS[kind]), data) for kind, data, _what in pl.Rows("", "xyz").constraints()]
            seen.append([value for value, _wrench in left])
            assert abs(np.linalg.norm(seen[-1]) - np.pi) < 1e-9
            for joint in (pl.Revolute("z"), pl.Planar("x"), pl.Helical("y", 0.1)):
                for kind, data, what in [*joint.constraints(), *joint.coordinates()]:
                    value, wrench = place.wrench(int(KINDS[kind]), data)
                    jet = place.jet(int(KINDS[kind]), data, np.ones(18))
                    assert np.all(np.isfinite([value, *wrench, *jet])), (axis, what)
        np.testing.assert_allclose(seen[1:], seen[:1] * np.ones((4, 1)), atol=1e-9)


def lost_directions() -> None:
    """Exactly where a direction is lost nothing is infinite: an axis of a universal joint along the other, points at one place."""
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    place = Place(np.eye(3), quarter, np.zeros(3), np.zeros(3), *np.ones((2, 6)))
    for joint in (pl.Universal("x", "y"), pl.Distance(0.3)):
        for kind, data, what in [*joint.constraints(), *joint.coordinates()]:
            value, wrench = place.wrench(int(KINDS[kind]), data)
            jet = place.jet(int(KINDS[kind]), data, np.zeros(18))
            P = np.zeros((6, 6))
            rows.add_row_matrix(int(KINDS[kind]), data, flat(place.A), flat(place.B), (0.0,) * 3, (0.0,) * 3, 1.0, P)
            assert np.all(np.isfinite([value, *wrench, *jet, *P.ravel()])), what
            assert abs(jet[1] - wrench @ np.ones(6)) < 1e-6 * max(1.0, abs(jet[1])), what


if __name__ == "__main__":
    main()
