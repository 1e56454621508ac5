"""Draw the figures of the pages and the logo; `make figures` writes them next to this file and to _static."""

import re
from pathlib import Path

import matplotlib
import numpy as np

import pliant as pl

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

HERE = Path(__file__).parent
STATIC = HERE.parent / "_static"
TEAL, ORANGE, BLUE, GREY, INK = "#0b8f87", "#e07b39", "#3b6fb5", "#b8c0c8", "#26323a"
SILICONE = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
VIEW = np.array([[0.94, -0.34, 0.0], [0.12, 0.32, 0.94]])  # world axes to the paper

plt.rcParams.update(
    {
        "font.size": 10,
        "font.family": "DejaVu Sans",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "pliant",
        "lines.solid_capstyle": "round",
    }
)


def save(figure, name):
    figure.savefig(
        HERE / f"{name}.svg", bbox_inches="tight", metadata={"Date": None}, transparent=True
    )
    plt.close(figure)


def arrow(axes, start, end, color=INK, width=1.6, style="-|>", curve=0.0, size=11):
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle=style,
            mutation_scale=size,
            color=color,
            lw=width,
            connectionstyle=f"arc3,rad={curve}",
            shrinkA=0,
            shrinkB=0,
        )
    )


def outlines(poses, height, width):
    """Corners of rectangular sections on the paper, (m, 4, 2)."""
    corners = (
        np.array([[0, a * height, b * width] for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
        / 2
    )
    world = np.einsum("mij,kj->mki", poses[:, :3, :3], corners) + poses[:, None, :3, 3]
    return world @ VIEW.T


def draw_bar(axes, poses, color, height=0.09, width=0.2, every=4, alpha=1.0):
    edges = outlines(poses, height, width)
    for k in range(4):
        axes.plot(*edges[:, k].T, color=color, lw=1.1, alpha=alpha)
    for ring in edges[::every]:
        axes.fill(*ring.T, facecolor=color, edgecolor=color, lw=0.6, alpha=0.16 * alpha)
        axes.plot(*np.vstack([ring, ring[:1]]).T, color=color, lw=0.9, alpha=alpha)


def strains():
    """The six strains of a rod, each constant."""
    robot = pl.Robot("bar")
    robot.add_rod(
        "bar",
        length=1.0,
        section=pl.Circle(0.05),
        material=SILICONE,
        strains=pl.Strains.constant(),
    )
    system = robot.compile()
    titles = (
        "0  torsion",
        "1  bending_y",
        "2  bending_z",
        "3  stretch",
        "4  shear_y",
        "5  shear_z",
    )
    sizes = (2.4, -1.5, 1.5, 0.35, 0.5, 0.4)
    units = ("rad/m", "rad/m", "rad/m", "–", "–", "–")
    figure, all_axes = plt.subplots(2, 3, figsize=(9.4, 4.4))
    for k, axes in enumerate(all_axes.flat):
        q = np.zeros(6)
        draw_bar(axes, system.rod_poses("bar", q, 25), GREY, alpha=0.9)
        q[k] = sizes[k]
        draw_bar(axes, system.rod_poses("bar", q, 25), TEAL)
        axes.set_title(f"{titles[k]}  = {sizes[k]:g} {units[k]}".replace(" –", ""), fontsize=10)
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_xlim(-0.2, 1.45)
        axes.set_ylim(-0.45, 0.85)
    axes = all_axes[0, 0]
    origin = np.array([-0.12, -0.32])
    for name, direction in zip("xyz", np.eye(3)):
        tip = origin + 0.28 * VIEW @ direction
        arrow(axes, origin, tip, width=1.0, size=8)
        axes.text(
            *(origin + 0.36 * VIEW @ direction), name, ha="center", va="center", fontsize=9
        )
    save(figure, "strains")


def strain_to_shape():
    """Coordinates make a strain field, the strain field makes a shape."""
    robot = pl.Robot("arm")
    robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle(0.01),
        material=SILICONE,
        strains=pl.Strains(bending_z=3),
    )
    system = robot.compile()
    q = np.array([1.8, -8.0, 5.2, -3.2])
    X = np.linspace(0, 1, 200)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.4, 3.5), gridspec_kw={"width_ratios": [1.15, 1]}
    )
    for k, function in enumerate(pl.Legendre(3)(X).T):
        left.plot(
            X,
            q[k] * function,
            color=BLUE,
            lw=1.0,
            alpha=0.3 + 0.2 * k,
            ls=("-", "--", "-.", ":")[k],
        )
        left.text(
            1.02, q[k] * function[-1], f"$q_{k}\\,P_{k}$", va="center", color=BLUE, fontsize=9
        )
    left.plot(X, system.strain("arm", q, X)[:, 2], color=TEAL, lw=2.6)
    left.text(0.08, 14.5, r"$\xi_2 = \xi_2^* + \Phi q$", color=TEAL, fontsize=12)
    points = system.rod_points("arm")
    left.plot(points, np.full(len(points), -12.0), "|", color=ORANGE, ms=9, mew=1.6)
    left.text(0.5, -11.0, "computational points", color=ORANGE, ha="center", fontsize=9)
    left.axhline(0, color=GREY, lw=0.8, zorder=0)
    left.set(
        xlabel="X, fraction of the length",
        ylabel="bending about z [rad/m]",
        xlim=(0, 1),
        ylim=(-13, 19),
    )
    curve = system.rod_poses("arm", q, 200)[:, :2, 3]
    right.plot(*curve.T, color=TEAL, lw=7, alpha=0.35)
    right.plot(*curve.T, color=TEAL, lw=1.6)
    for g in system.rod_poses("arm", q, points):
        for column, color in ((0, INK), (1, ORANGE)):
            arrow(
                right,
                g[:2, 3],
                g[:2, 3] + 0.035 * g[:2, column],
                color=color,
                width=1.1,
                size=6,
            )
    right.text(-0.01, -0.035, r"$g(0)$", fontsize=11)
    right.text(*(curve[-1] + [0.015, 0.02]), r"$g(1)$", fontsize=11)
    right.text(0.2, 0.0, r"$g^{-1} g' = L\,\hat\xi$", fontsize=12)
    right.set_aspect("equal")
    right.axis("off")
    save(figure, "strain_to_shape")


def steps():
    """A robot, its tree of blocks and its table of steps, and what the two passes carry."""
    figure, axes = plt.subplots(figsize=(9.4, 4.3))
    axes.set_xlim(-0.3, 11.4)
    axes.set_ylim(-1.5, 3.4)
    axes.set_aspect("equal")
    axes.axis("off")
    path = np.array([[1.0, 0.0], [1.9, 0.02], [2.8, 0.2], [3.7, 0.52], [4.5, 0.95]])
    inner = np.linspace(0, len(path) - 1, 100)
    curve = np.array([np.interp(inner, range(len(path)), path[:, k]) for k in (0, 1)]).T
    axes.plot([-0.1, -0.1], [-0.5, 0.5], color=INK, lw=3)
    axes.add_patch(
        FancyBboxPatch(
            (0.0, -0.28), 0.9, 0.56, boxstyle="round,pad=0.02", fc="#dfe6ea", ec=INK, lw=1.2
        )
    )
    axes.plot(*curve.T, color=TEAL, lw=13, alpha=0.3)
    axes.plot(*path.T, "o", color=TEAL, ms=6, zorder=5)
    end = path[-1]
    upper = np.array([end, end + [0.75, 0.75], end + [1.45, 1.55]])
    lower = end + [0.95, -0.35]
    axes.plot(*upper.T, color=BLUE, lw=9, alpha=0.3)
    axes.plot(*upper[1:].T, "o", color=BLUE, ms=6, zorder=5)
    axes.plot(*np.array([end, lower]).T, color=INK, lw=1.2, ls=":")
    axes.add_patch(Circle(lower, 0.27, fc="#f5d9c6", ec=ORANGE, lw=1.4))
    axes.add_patch(Circle((0.0, 0.0), 0.1, fc="white", ec=INK, lw=1.4, zorder=6))
    labels = [
        ((0.42, 0.42), "0", INK),
        ((1.5, 0.28), "1", TEAL),
        ((2.4, 0.38), "2", TEAL),
        ((3.2, 0.66), "3", TEAL),
    ]
    labels += [((4.0, 1.05), "4", TEAL), ((4.62, 1.52), "5", BLUE), ((5.38, 2.35), "6", BLUE)]
    for place, text, color in [*labels, ((5.45, -0.02), "7", ORANGE)]:
        axes.text(*place, text, color=color, fontsize=12, fontweight="bold", ha="center")
    axes.text(0.45, -0.78, "joint and body", ha="center", fontsize=9)
    axes.text(
        2.7,
        -0.35,
        "rod: one step from\npoint to point",
        ha="center",
        fontsize=9,
        color=TEAL,
        va="top",
    )
    axes.text(6.15, 2.62, "branch", fontsize=9, color=BLUE)
    axes.text(5.85, 0.42, "payload", fontsize=9, color=ORANGE)
    left, top, height = 7.9, 3.0, 0.36
    axes.text(
        left,
        top + 0.18,
        "step   start   kind",
        fontsize=9,
        fontweight="bold",
        family="DejaVu Sans Mono",
    )
    rows = [
        ("0", "–", "joint", INK),
        ("1", "0", "rod", TEAL),
        ("2", "1", "rod", TEAL),
        ("3", "2", "rod", TEAL),
    ]
    rows += [
        ("4", "3", "rod", TEAL),
        ("5", "4", "rod", BLUE),
        ("6", "5", "rod", BLUE),
        ("7", "4", "joint", ORANGE),
    ]
    for k, (number, start, kind, color) in enumerate(rows):
        y = top - (k + 1) * height
        axes.add_patch(
            FancyBboxPatch(
                (left - 0.1, y),
                2.55,
                height - 0.06,
                boxstyle="square,pad=0",
                fc=color,
                ec="none",
                alpha=0.13,
            )
        )
        axes.text(
            left,
            y + 0.07,
            f"{number:^4}   {start:^5}   {kind}",
            fontsize=9,
            color=color,
            family="DejaVu Sans Mono",
        )
    bottom = top - (len(rows) + 1) * height
    arrow(axes, (left + 2.65, top - 0.05), (left + 2.65, bottom + 0.35), TEAL)
    axes.text(left + 2.78, (top + bottom) / 2 + 0.75, "V, A, s\nadd up", color=TEAL, fontsize=9)
    arrow(axes, (left - 0.25, bottom + 0.35), (left - 0.25, top - 0.05), ORANGE)
    axes.text(
        left - 0.35,
        (top + bottom) / 2 - 1.15,
        "f, N, I\nadd up",
        color=ORANGE,
        fontsize=9,
        ha="right",
    )
    axes.text(
        left, bottom - 0.1, "forward: motion from the base outwards", color=TEAL, fontsize=9
    )
    axes.text(
        left, bottom - 0.45, "backward: forces from the tips inwards", color=ORANGE, fontsize=9
    )
    save(figure, "steps")


def tendon():
    """A tendon along a rod: the offset, the direction, and what it does to the rod."""
    robot = pl.Robot("arm", gravity=(0, 0, 0))
    rod = robot.add_rod(
        "arm",
        length=0.5,
        section=pl.Circle(0.05),
        material=SILICONE,
        strains=pl.Strains(bending_z=2),
    )
    robot.add_tendon("cable", rod, y=lambda X: 0.042 - 0.02 * X)
    system = robot.compile()
    q = pl.solve_statics(system, {"cable": 130.0}).q
    figure, axes = plt.subplots(figsize=(8.6, 3.3))
    poses = system.rod_poses("arm", q, 100)
    X = np.linspace(0, 1, 100)
    offset = 0.042 - 0.02 * X
    x, normal = poses[:, :2, 3], poses[:, :2, 1]
    edge = np.vstack([x + 0.05 * normal, (x - 0.05 * normal)[::-1]])
    axes.fill(*edge.T, color=TEAL, alpha=0.15, lw=0)
    axes.plot(*x.T, color=TEAL, lw=1.2, ls="--")
    line = x + offset[:, None] * normal
    axes.plot(*line.T, color=ORANGE, lw=2.2)
    axes.plot([0, 0], [-0.09, 0.09], color=INK, lw=3)
    k = 45
    arrow(axes, x[k], line[k], BLUE)
    axes.text(*(x[k] + [-0.012, 0.012]), r"$d$", color=BLUE, fontsize=12, ha="right")
    tangent = (line[k + 1] - line[k]) / np.linalg.norm(line[k + 1] - line[k])
    arrow(axes, line[k], line[k] + 0.075 * tangent, INK)
    axes.text(
        *(line[k] + 0.06 * tangent + [-0.012, 0.016]),
        r"$t = \sigma + \kappa\times d + d'$",
        fontsize=11,
        ha="right",
    )
    end = (line[-1] - line[-2]) / np.linalg.norm(line[-1] - line[-2])
    arrow(axes, line[-1], line[-1] - 0.08 * end, ORANGE, width=2.4)
    axes.text(
        *(line[-1] + 0.02 * end + [0.0, 0.008]),
        r"force $-T\,\hat t$ on the rod",
        color=ORANGE,
        fontsize=11,
    )
    arrow(axes, line[0], line[0] - [0.09, -0.004], ORANGE, width=2.4)
    axes.text(
        -0.1,
        line[0, 1] + 0.016,
        r"input: tension $T$",
        color=ORANGE,
        fontsize=11,
        ha="right",
        va="center",
    )
    axes.text(
        0.05,
        -0.085,
        r"length  $\ell = \int |t|$,   force on the coordinates  $-T\,\partial\ell/\partial q$",
        fontsize=11,
    )
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_xlim(-0.34, 0.72)
    save(figure, "tendon")


def spectral_radius():
    """What a step does to a vibration of frequency ω, for several rho."""
    figure, axes = plt.subplots(figsize=(6.6, 3.2))
    z = np.geomspace(1e-2, 1e3, 500)
    for rho, color in ((1.0, GREY), (0.8, TEAL), (0.5, BLUE), (0.0, ORANGE)):
        am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        beta, gamma = 0.25 * (1 - am + af) ** 2, 0.5 - am + af
        radius = []
        for w2 in (
            2 * np.pi * z
        ) ** 2:  # step 1: unknowns are q, v and the auxiliary a after the step
            new = np.array(
                [[1.0, 0.0, -beta], [0.0, 1.0, -gamma], [w2 * (1 - af), 0.0, 1 - am]]
            )
            old = np.array(
                [[1.0, 1.0, 0.5 - beta], [0.0, 1.0, 1 - gamma], [-w2 * af, 0.0, -am]]
            )
            radius.append(np.abs(np.linalg.eigvals(np.linalg.solve(new, old))).max())
        axes.semilogx(z, radius, color=color, lw=2)
        axes.text(
            1.15e3, radius[-1], f"rho = {rho:g}", color=color if rho < 1 else INK, va="center"
        )
    axes.set(
        xlabel="step × frequency",
        ylabel="amplitude after a step",
        ylim=(-0.04, 1.08),
        xlim=(1e-2, 1e3),
    )
    axes.axhline(1, color=GREY, lw=0.6, zorder=0)
    save(figure, "spectral_radius")


def logo():
    """The arm of the README under its cable, in two shades, and the icon."""
    robot = pl.Robot("arm", gravity=(0, 0, -9.81 / 3))
    radius = pl.Circle(radius=(0.03, 0.012))
    robot.add_rod(
        "arm", length=0.5, section=radius, material=SILICONE, strains=pl.Strains(bending_y=5)
    )
    robot.add_tendon("cable", "arm", z=lambda X: 0.9 * (0.03 - 0.018 * X))
    system = robot.compile()
    q = pl.solve_statics(system, {"cable": 20.0}).q
    poses = system.rod_poses("arm", q, 40)
    thickness = np.linspace(0.03, 0.012, 40)[:, None]
    x, normal = poses[:, [0, 2], 3], poses[:, [0, 2], 2]
    scale, origin = 250.0, np.array([14.0, 112.0])

    def path(points, close=False):
        shown = origin + scale * points * [1, -1]
        return "M" + " L".join(f"{a:.1f} {b:.1f}" for a, b in shown) + (" Z" if close else "")

    outline = path(
        np.vstack([x + thickness * normal, (x - thickness * normal)[::-1]]), close=True
    )
    cable = path(x + 0.72 * thickness * normal)
    ball = origin + scale * (x[-1] + 0.024 * poses[-1, [0, 2], 0]) * [1, -1]
    edges = origin + scale * np.vstack([x + thickness * normal, x - thickness * normal]) * [
        1,
        -1,
    ]
    top, bottom = min(edges[:, 1].min(), ball[1] - 8), max(edges[:, 1].max(), 126.0)
    right = max(edges[:, 0].max(), ball[0] + 8)

    def art(color, ink, shade):
        return (
            f'<rect x="2" y="98" width="13" height="28" rx="3" fill="{ink}"/>'
            f'<path d="{outline}" fill="{shade}" stroke="{color}" stroke-width="2.5" stroke-linejoin="round"/>'
            f'<path d="{cable}" fill="none" stroke="#e07b39" stroke-width="2.2"/>'
            f'<circle cx="{ball[0]:.1f}" cy="{ball[1]:.1f}" r="7" fill="#e07b39"/>'
        )

    for name, color, ink, shade in (
        ("light", "#0b6e69", "#26323a", "#cfe9e6"),
        ("dark", "#4fc3b8", "#cdd7dd", "#17403d"),
    ):
        word = (
            f'<text x="{right + 12:.0f}" y="{(top + bottom) / 2 + 14:.0f}" font-family="DejaVu Sans, Verdana, sans-serif" '
            f'font-size="44" font-weight="600" fill="{ink}">pliant</text>'
        )
        box = f'viewBox="0 {top - 4:.0f} {right + 168:.0f} {bottom - top + 8:.0f}"'
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">\n<title>pliant</title>\n{art(color, ink, shade)}\n{word}\n</svg>\n'
        (STATIC / f"logo-{name}.svg").write_text(svg, encoding="utf-8")
    side = max(right + 4, bottom - top + 8)
    icon = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {(top + bottom - side) / 2:.0f} {side:.0f} {side:.0f}">{art("#0b8f87", "#5a6b75", "#cfe9e6")}</svg>\n'
    (STATIC / "icon.svg").write_text(icon, encoding="utf-8")


def pages():
    """The pictures that the tutorial and the pages on control make themselves."""
    for name in ("tutorial", "control", "controllers"):
        text = (HERE.parent / f"{name}.md").read_text(encoding="utf-8")
        names: dict = {}
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            exec(block.replace(f'"{name}.svg"', repr(str(HERE / f"{name}.svg"))), names)
        plt.close("all")


def main():
    for draw in (strains, strain_to_shape, steps, tendon, spectral_radius, logo, pages):
        draw()


if __name__ == "__main__":
    main()
