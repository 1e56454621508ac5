"""The viewers in a real browser: something is seen, and it moves."""

import io
import time

import numpy as np
import pytest

import pliant as pl
from pliant.viz.colors import scale_colors
from pliant.viz.html import field_range
from pliant.viz.recording import record_result

PATIENCE = 40.0  # seconds that a slow machine may take

Image = pytest.importorskip("PIL.Image", reason="needs pillow to look at pictures")


@pytest.fixture(scope="module")
def system():
    robot = pl.Robot("arm with a cable")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot.add_rod(
        "arm", length=0.4, section=pl.Circle((0.03, 0.015)), material=rubber, strains=pl.Strains(bending=2, stretch=1)
    )
    robot.add_tendon("cable", "arm", z=(0.03, 0.015))
    return robot.compile()


@pytest.fixture(scope="module")
def run(system):
    return pl.simulate(system, 2.0, u=lambda t: {"cable": 20 * np.sin(2 * t) ** 2}, start=pl.solve_statics(system))


def picture(page, clip=None):
    """What is seen, (height, width, 3)."""
    data = page.screenshot(clip=clip)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def colored(image):
    """Where it is blue, as the rod and nothing in the background is."""
    return image[..., 2] - image[..., 0] > 25


def until(condition, what):
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"{what} did not happen within {PATIENCE} s")


STAGE = {"x": 40, "y": 70, "width": 300, "height": 260}  # where no buttons are


def seen(page):
    return int(colored(picture(page, STAGE)).sum())


def differ(a, b):
    """Share of the robot's pixels that changed."""
    a, b = colored(a), colored(b)
    return (a ^ b).sum() / max(int(a.sum()), 1)


def test_the_offline_page_shows_the_robot_and_plays(page, run, tmp_path):
    wanted = []
    page.on("request", lambda request: wanted.append(request.url))
    path = run.save_html(tmp_path / "run.html", autoplay=False)
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=1000 * PATIENCE)
    until(lambda: colored(picture(page)).sum() > 1500, "seeing the robot")
    assert page.title() == "arm with a cable"
    still = picture(page)
    assert page.text_content("#time") == "0.00 s"
    page.click("#play")
    until(lambda: float(page.text_content("#time").split()[0]) > 0.4, "the time going on")
    page.click("#play")
    moved = picture(page)
    assert differ(still, moved) > 0.1
    paused = page.text_content("#time")
    time.sleep(0.3)
    assert page.text_content("#time") == paused
    page.fill("#scrub", "0")
    until(lambda: page.text_content("#time") == "0.00 s", "going back")
    until(lambda: differ(still, picture(page)) < 0.02, "the first picture again")
    page.click("#menu")
    page.select_option("#field", "curvature")
    robot = colored(still)
    until(lambda: np.abs(picture(page) - still)[robot].mean() > 15, "other colours")
    assert page.is_visible("#legend")
    page.check("#show-trails")
    page.check("#show-frames")
    assert not page.errors
    assert [url for url in wanted if not url.startswith(("file:", "blob:", "data:"))] == []


def test_the_player_computes_the_same_surfaces(page, run, tmp_path):
    page.goto(run.save_html(tmp_path / "run.html", autoplay=False).as_uri())
    page.wait_for_selector("body[data-ready]", timeout=1000 * PATIENCE)
    recording = record_result(run)
    frame = 71
    t = float(recording.t[frame])
    drawn = page.evaluate(
        """t => { pliant.time = t; pliant.draw(); return [
            Array.from(pliant.tubes[0].geometry.attributes.position.array), Array.from(pliant.cables[0].pipe.points)] }""",
        t,
    )
    poses = recording.poses[frame]
    expected = [recording.scene.tubes[0].mesh(poses).vertices, recording.scene.cables[0].points(poses)]
    for values, exact in zip(drawn, expected):
        np.testing.assert_allclose(np.reshape(values, (-1, 3)), exact, atol=3e-5)


def test_the_offline_page_of_a_shape_has_no_bar(page, system, tmp_path):
    path = pl.solve_statics(system, {"cable": 10.0}).save_html(tmp_path / "rest.html")
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=1000 * PATIENCE)
    until(lambda: colored(picture(page)).sum() > 1500, "seeing the robot")
    assert not page.is_visible("#bar")
    assert not page.errors


def light(server):
    """Simple light: without a graphics card, reflections take twenty seconds."""
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(cast_shadow=False)


def test_the_live_page_shows_the_robot_and_plays(page, run):
    pytest.importorskip("viser")
    with run.view(port=8351) as viewer:
        light(viewer.server)
        page.goto(viewer.address)
        page.get_by_role("button", name="Pause").wait_for(timeout=1000 * PATIENCE)  # it plays at once
        until(lambda: seen(page) > 400, "seeing the robot")
        page.get_by_role("button", name="Pause").click()
        until(lambda: not viewer.playback.playing, "the pause")
        viewer.playback.seek(0.0)
        still = settled(page)
        page.get_by_role("button", name="Play").click()
        until(lambda: viewer.playback.time > 0.3, "the time going on")
        page.get_by_role("button", name="Pause").click()
        until(lambda: not viewer.playback.playing, "the pause")
        viewer.playback.seek(0.785)  # where the cable pulls most; pictures that are still on their way come before it
        until(lambda: differ(still, picture(page, STAGE)) > 0.1, "the robot moving")
        assert not page.errors


PAINTED = """() => {
    const found = [];
    for (const scene of window.scenes) scene.traverseVisible((node) => {
        const { color, position } = node.isMesh ? node.geometry.attributes : {};
        if (color && node.material.vertexColors) found.push({
            color: Array.from(color.array), position: Array.from(position.array), opacity: node.material.opacity, transparent: node.material.transparent });
    });
    return found;
}"""
SCENES = """window.scenes = []; window.__THREE_DEVTOOLS__ = new EventTarget();
    window.__THREE_DEVTOOLS__.addEventListener("observe", ({ detail }) => detail.isScene && window.scenes.push(detail));"""


def test_rods_of_a_live_page_have_a_colour_at_each_vertex(page, run):
    """The colours that three.js has are those of the values, in linear light; also when one sees through, after a pause, and of another field."""
    pytest.importorskip("viser")
    with run.view(port=8353, color="curvature") as viewer:
        light(viewer.server)
        stage, tube = viewer.stage, viewer.stage.scene.tubes[0]
        stage.switches.see_through = False
        viewer.playback.play(False)
        page.add_init_script(SCENES)
        page.goto(viewer.address)
        page.get_by_role("button", name="Play").wait_for(timeout=1000 * PATIENCE)
        for name, moment, opacity in (
            ("curvature", 0.785, 1.0),
            ("curvature", 0.3, 0.55),
            ("bending_y", 1.0, 0.55),
            ("bending_y", 1.2, 1.0),
        ):
            stage.switches.color, stage.switches.see_through = name, opacity < 1
            stage.apply()
            viewer.playback.seek(moment)
            poses, values = stage.recording.poses[stage.frame], stage.recording.fields[name]
            count = len(tube.skin.station)
            srgb = scale_colors(values[stage.frame], *field_range(values))[tube.skin.station] / 255
            expected = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
            assert len(np.unique(srgb, axis=0)) > 20
            vertices = tube.skin.vertices(poses[tube.span])

            def arrived(vertices=vertices, expected=expected, count=count, opacity=opacity):
                rods = page.evaluate(PAINTED)
                if len(rods) != 1:
                    return False
                color, position = (np.reshape(rods[0][key], (-1, 3))[:count] for key in ("color", "position"))
                same = np.abs(color - expected).max() < 4e-3 and np.abs(position - vertices).max() < 1e-6
                return same and rods[0]["opacity"] == opacity and rods[0]["transparent"] == (opacity < 1)

            until(arrived, f"{name} at {moment} s, opacity {opacity}")
        stage.switches.color = None
        stage.apply()
        until(lambda: page.evaluate(PAINTED) == [], "the plain colour again")
        assert not page.errors


def test_colours_of_a_live_page_are_seen(page, run):
    """Both ends of the scale are on the screen, and many colours between them."""
    pytest.importorskip("viser")
    with run.view(port=8354, color="curvature") as viewer:
        light(viewer.server)
        viewer.playback.play(False)
        page.set_viewport_size({"width": 900, "height": 600})
        page.goto(viewer.address)
        page.get_by_role("button", name="Play").wait_for(timeout=1000 * PATIENCE)
        viewer.stage.switches.see_through = False
        viewer.stage.apply()
        viewer.playback.seek(0.785)

        def kinds():
            image = picture(page, {"x": 0, "y": 160, "width": 550, "height": 440})
            bright = image[np.ptp(image, axis=-1) > 60]
            hue = np.round(bright / bright.max(axis=-1, keepdims=True), 1)
            warm = image[..., 0] - image[..., 2]
            return len(np.unique(hue, axis=0)), int((warm > 60).sum()), int((warm < -60).sum())

        def many():
            hues, red, blue = kinds()
            return hues > 40 and red > 100 and blue > 100

        until(many, "many colours, from blue to red")
        assert not page.errors


def settled(page):
    """The picture once it stays: a slow page shows what was sent some time ago."""
    last = [picture(page, STAGE)]

    def stays():
        time.sleep(0.7)
        last.append(picture(page, STAGE))
        return colored(last[-1]).sum() > 400 and differ(last[-2], last[-1]) < 0.005

    until(stays, "a picture that stays")
    return last[-1]


def test_a_slider_of_the_studio_changes_the_shape(page, system):
    pytest.importorskip("viser")
    with pl.studio(system, ranges={"cable": (0, 20)}, port=8352) as studio:
        light(studio.server)
        page.goto(studio.address)
        slider = page.get_by_role("slider").first
        slider.wait_for(timeout=1000 * PATIENCE)
        until(lambda: seen(page) > 400, "seeing the robot")
        still = picture(page, STAGE)
        slider.focus()
        for _ in range(3):
            page.keyboard.press("End")
        until(lambda: studio.rest.u[0] > 15.0, "the statics of the pulled cable")
        until(lambda: differ(still, picture(page, STAGE)) > 0.1, "the robot moving")
        page.get_by_text("stable").first.wait_for(timeout=1000 * PATIENCE)
        assert not page.errors
