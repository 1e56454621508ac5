"""Hostile models and hostile pages in a real browser: names stay text, other pages are refused, clocks run forwards."""

import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import pliant as pl

PATIENCE = 40.0  # seconds that a slow machine may take
LEAK = "http://localhost:9/leak"
NASTY = f"<img src={LEAK}> <a href={LEAK}> ![y]({LEAK}) <script>hacked=1</script><svg onload=hacked=2>"
WORSE = f"</script><script>hacked=3</script><!--</title>{{{{player}}}} {NASTY}"


@pytest.fixture(scope="module")
def system():
    robot = pl.Robot(WORSE)
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    robot.add_rod(NASTY, length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1))
    robot.add_tendon(f"cable {NASTY}", NASTY, z=0.015)
    robot.add_tendon(f"held {NASTY}", NASTY, y=0.015, control="length")
    robot.add_obstacle(f"floor {NASTY}", pl.HalfSpace(), pose=(0, 0, -0.01))
    robot.add_contact(f"touch {NASTY}", NASTY, f"floor {NASTY}", stiffness=1e3)
    return robot.compile()


@pytest.fixture
def watched(page):
    """A page that remembers what it asked for."""
    page.wanted = []
    page.on("request", lambda request: page.wanted.append(request.url))
    page.on("websocket", lambda socket: page.wanted.append(socket.url))
    page.on("dialog", lambda dialog: page.wanted.append("leak: dialog") or dialog.dismiss())
    return page


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"{what} did not happen within {PATIENCE} s")


def check(page):
    """Nothing of the names became markup."""
    assert page.evaluate("window.hacked") is None
    assert [url for url in page.wanted if "leak" in url] == []
    assert page.evaluate(f'document.querySelectorAll(\'[src*="{LEAK}"], [href*="{LEAK}"]\').length') == 0


def test_names_on_the_offline_page(watched, system, tmp_path):
    run = pl.simulate(system, 0.05, motion={f"held {NASTY}": 0.4}, output=0.01)
    watched.goto(run.save_html(tmp_path / "run.html", autoplay=False).as_uri())
    watched.wait_for_selector("body[data-ready]", timeout=1000 * PATIENCE)
    assert watched.text_content("#name") == WORSE
    assert watched.evaluate("document.title").split() == WORSE.split()
    assert not watched.errors
    check(watched)


def test_names_in_the_studio(watched, system):
    pytest.importorskip("viser")
    with pl.studio(system, port=8391) as studio:
        studio.server.scene.configure_environment_map(None)
        watched.goto(studio.address)
        watched.get_by_role("slider").first.wait_for(timeout=1000 * PATIENCE)
        # the panel of the equilibrium names the tip and the held tendon
        until(lambda: watched.get_by_text(f"tension of held {NASTY}").count() == 1, "seeing the name as it is written")
        assert watched.get_by_text(f"{NASTY}: (").count() + watched.get_by_text(f"{NASTY}.tip: (").count() >= 1
        time.sleep(0.5)  # a picture would be asked for by now
        assert not watched.errors
        check(watched)


def test_names_on_a_live_page(watched, system):
    pytest.importorskip("viser")
    with pl.show(system, port=8392, color="curvature") as viewer:
        viewer.server.scene.configure_environment_map(None)
        watched.goto(viewer.address)
        watched.get_by_role("button", name="Save as HTML").wait_for(timeout=1000 * PATIENCE)
        time.sleep(0.5)
        assert not watched.errors
        check(watched)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        """Say nothing."""


@pytest.fixture
def elsewhere(tmp_path):
    """Another website on this machine."""
    (tmp_path / "index.html").write_text("<!doctype html><title>elsewhere</title>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()
    thread.join()


CONNECT = """([address, protocol]) => new Promise((done) => {
    const socket = new WebSocket(address, protocol);
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
})"""


def test_another_website_cannot_connect(watched, system, elsewhere):
    viser = pytest.importorskip("viser")
    with pl.show(system, port=8393) as viewer:
        call = [viewer.address.replace("http", "ws"), f"viser-v{viser.__version__}"]
        watched.goto(elsewhere)
        assert watched.evaluate(CONNECT, call) == "refused"
        assert (
            watched.evaluate("address => fetch(address).then((r) => r.text(), () => 'refused')", viewer.address)
            == "refused"
        )
        watched.goto(viewer.address)  # the page itself can
        assert watched.evaluate(CONNECT, call) == "open"


def test_the_clock_of_the_player_runs_forwards(page, tmp_path):
    """A frame is stamped when it begins; a slow first one began before the player did, and time went below zero."""
    robot = pl.Robot("pendulum")
    robot.add_body("bob", joint=pl.Revolute("y"), shape=pl.Sphere(0.1), mass=1.0, com=(0.5, 0, 0))
    run = pl.simulate(robot.compile(), 2.0, output=0.05)
    page.goto(run.save_html(tmp_path / "run.html", autoplay=False).as_uri())
    page.wait_for_selector("body[data-ready]", timeout=1000 * PATIENCE)
    times = page.evaluate(
        """() => { const times = [], start = performance.now();
            pliant.play(true);
            for (const at of [-5000, -4000, -4100, -3900]) { pliant.tick(start + at); times.push(pliant.time); }
            pliant.play(false);
            return times; }"""
    )
    assert min(times) >= 0.0
    assert np.all(np.diff(times) >= 0)
    np.testing.assert_allclose(times, [0.0, 0.25, 0.25, 0.45], atol=1e-6)
