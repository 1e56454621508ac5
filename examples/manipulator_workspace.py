"""The workspace of the cable-driven manipulator of [002]: where its tip can be, and how well it can be moved there.

The cables of the arm pull with up to 30 N each: the three straight ones, or all five. Thousands of equilibria on a grid of tensions, computed on
all cores, are the set that the tip can reach; the exact derivatives of the tip by the tensions tell where it can be moved in all directions. The
hull is known with a few hundred points, the cubes that it fills take thousands. The two helical cables add an eighth. What is checked: single
points against equilibria that are found alone, the mirror symmetry of the arm, derivatives against differences, and that volumes settle.
"""

import numpy as np

import pliant as pl
from pliant import gallery
from pliant.viz.drawing import plot_configurations
from pliant.viz.style import panels

STRAIGHT = {f"cable{k}": (0.0, 30.0) for k in (1, 2, 3)}
ALL = {f"cable{k}": (0.0, 30.0) for k in (1, 2, 3, 4, 5)}
CUBE = 0.02  # [m]


build = gallery.load("cable_driven_manipulator").build


def explore(system, inputs, samples, **options):
    """The reach of the tip, with so many tensions of each cable."""
    return pl.workspace(system, "arm.tip", inputs, samples=samples, sampling="grid", **options)


def figures(reach):
    """The points coloured by manipulability, a cut through them, and arms at the farthest points."""
    points = reach.points()
    shapes = [reach.q[k] for k in (np.nanargmin(points[:, 2]), np.nanargmax(points[:, 2]), np.nanargmax(points[:, 1]))]
    figure, (left, right) = panels(1, 2, size=(8.0, 3.6))
    value = reach.manipulability()
    middle = np.abs(points[:, 1]) < 0.01
    drawn = left.scatter(*points[middle][:, [0, 2]].T, s=4, c=1e9 * value[middle], cmap="viridis")
    figure.colorbar(drawn, ax=left, label="manipulability [mm³/N³]")
    left.set(xlabel="x [m]", ylabel="z [m]", title="cut at y = 0", aspect="equal")
    best = np.argsort(value)
    right.scatter(*points[best][:, [1, 2]].T, s=2, c=1e9 * value[best], cmap="viridis")
    right.set(xlabel="y [m]", ylabel="z [m]", title="seen from the tip", aspect="equal")
    return {"cut": figure, "reach": reach.plot(), "shapes": plot_configurations(reach.system, shapes)}


def main(figures_dir=None):
    system = build()
    print(f"{'cables':>8}{'points':>9}{'reached':>9}{'hull [dm³]':>12}{'cubes [dm³]':>13}{'points per second':>19}")
    for inputs, counts in ((STRAIGHT, (5, 10, 20)), (ALL, (3, 4, 6))):
        for count in counts:
            reach = explore(system, inputs, count)
            volume, cubes = 1e3 * reach.hull_volume(), 1e3 * reach.voxels(CUBE).volume
            share, rate = 100 * reach.reached.mean(), len(reach) / reach.statics.seconds
            print(f"{len(inputs):8}{len(reach):9}{share:8.1f}%{volume:12.2f}{cubes:13.2f}{rate:19.0f}")
    reach = explore(system, STRAIGHT, 20, manipulability=True)
    values = reach.singular_values()[reach.reached]
    print(
        f"\nthe tip moves by {1e3 * values[:, 0].mean():.2f}, {1e3 * values[:, 1].mean():.2f} and {1e3 * values[:, 2].mean():.3f} mm/N"
    )
    best = np.nanargmax(reach.manipulability())
    place = ", ".join(f"{x:.3f}" for x in reach.points()[best])
    print(f"best in all directions at ({place}) m, with {', '.join(f'{t:.0f}' for t in reach.u[best, :3])} N")
    gallery.save(figures_dir, figures, reach)


def check():
    system = build()
    reach = explore(system, STRAIGHT, 12, manipulability=True)
    assert reach.reached.all()
    tips, J = reach.points(), reach.jacobians()
    inside = np.flatnonzero((reach.u[:, :3] > 1).all(axis=1))
    for k in inside[::150]:
        rest = pl.solve_statics(system, reach.u[k])
        np.testing.assert_allclose(tips[k], system.pose("arm.tip", rest.q)[:3, 3], atol=1e-8)
        # cables 2 and 3 are mirror images of each other
        mirrored = pl.solve_statics(system, reach.u[k][[0, 2, 1, 3, 4]])
        np.testing.assert_allclose(tips[k] * [1, -1, 1], system.pose("arm.tip", mirrored.q)[:3, 3], atol=1e-8)
        # derivatives are those of equilibria
        h = 1e-3 * np.array([1.0, -2.0, 0.5, 0.0, 0.0])
        ends = [pl.solve_statics(system, reach.u[k] + s * h, start=rest, tolerance=1e-13) for s in (1, -1)]
        moved = np.diff([system.pose("arm.tip", rest.q)[:3, 3] for rest in ends[::-1]], axis=0)[0] / 2
        np.testing.assert_allclose(J[k] @ h[:3], moved, rtol=1e-4, atol=1e-10)
    # the hull settles from below as points are added, and helical cables add to it
    volumes = [explore(system, STRAIGHT, n).hull_volume() for n in (5, 9, 17)]
    assert 0.95 * volumes[2] < volumes[0] < volumes[1] < volumes[2]
    assert volumes[1] > 0.99 * volumes[2]
    assert abs(volumes[2] - 0.01547) < 5e-5
    assert explore(system, ALL, 4).hull_volume() > 1.1 * volumes[2]


if __name__ == "__main__":
    main()
    check()
