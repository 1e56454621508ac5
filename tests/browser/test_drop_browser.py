"""Model files that are dropped onto the studio, in a real browser."""

import time

import pytest

import pliant as pl
from pliant.viz.framing import framed

pytest.importorskip("viser")
PATIENCE = 40.0  # seconds that a slow machine may take
OTHER = """
name: the other robot
materials: {rubber: {young: 1e6, poisson: 0.5, density: 1000}}
links:
  finger: {type: rod, length: 0.2, section: {type: Circle, radius: 0.01}, material: rubber, strains: {bending: 1}}
"""

DRAG = """([kind, files]) => {
    const carried = new DataTransfer();
    for (const [name, text] of files) carried.items.add(new File([text], name));
    if (!files.length) carried.setData("text/plain", "words");
    const event = new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true });
    document.querySelector("canvas").dispatchEvent(event);
    return event.defaultPrevented;
}"""


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"{what} did not happen within {PATIENCE} s")


def arm():
    robot = pl.Robot("the first robot")
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000)
    robot.add_rod("arm", length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains(bending=1))
    robot.add_tendon("cable", "arm", z=0.015)
    return robot.compile()


@pytest.fixture(scope="module")
def studio():
    with pl.studio(arm(), ranges={"cable": (0, 10)}, port=8396) as studio:
        studio.server.scene.configure_environment_map(None)  # without a graphics card, reflections take twenty seconds
        yield studio


@pytest.fixture
def open_page(page, studio):
    page.goto(studio.address)
    page.get_by_role("button", name="Open a model file").wait_for(timeout=1000 * PATIENCE)
    return page


def overlay(page):
    return page.evaluate("""() => { const e = document.getElementById("pliant-drop");
        return e && getComputedStyle(e).display !== "none" ? e.textContent : ""; }""")


def test_a_file_over_the_page_shows_where_to_drop_it(open_page):
    assert overlay(open_page) == ""
    assert open_page.evaluate(DRAG, ["dragover", [["arm.yaml", ""]]])  # the page takes it
    assert overlay(open_page).startswith("Drop a model file")
    box = open_page.locator("#pliant-drop > div").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 560
    assert open_page.evaluate(DRAG, ["dragleave", [["arm.yaml", ""]]]) is False
    assert overlay(open_page) == ""
    assert open_page.evaluate(DRAG, ["dragover", [["arm.yaml", ""]]])
    until(
        lambda: overlay(open_page) == "", "the end of a drag that says nothing more"
    )  # it may end outside of the window
    assert not open_page.errors


def test_what_is_no_file_is_left_alone(open_page, studio):
    for kind in ("dragenter", "dragover", "drop"):
        assert open_page.evaluate(DRAG, [kind, []]) is False
        assert overlay(open_page) == ""
    name = studio.system.name
    open_page.mouse.move(150, 200)
    before = studio.server.get_clients()[max(studio.server.get_clients())].camera.position.copy()
    open_page.mouse.down()
    open_page.mouse.move(220, 230, steps=4)
    open_page.mouse.up()
    until(
        lambda: (
            abs(studio.server.get_clients()[max(studio.server.get_clients())].camera.position - before).max() > 1e-3
        ),
        "turning the view",
    )
    assert overlay(open_page) == ""
    assert studio.system.name == name
    assert not open_page.errors


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            [["film.mp4", "x" * 1000]],
            "film.mp4 cannot be opened: the name of a model file ends with .yaml, .yml or .json.",
        ),
        ([["broken.yaml", "name: ["]], "broken.yaml cannot be opened"),
    ],
)
def test_a_wrong_file_says_what_the_button_says(open_page, studio, files, told):
    assert open_page.evaluate(DRAG, ["drop", files])
    until(lambda: open_page.get_by_text(told).count() >= 2, "the message")  # in the panel, and beside it
    dropped = studio.report.content
    studio._say("")
    name, text = files[0]
    with open_page.expect_file_chooser() as chooser:
        open_page.get_by_role("button", name="Open a model file").click()
    chooser.value.set_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})
    until(lambda: studio.report.content == dropped, "the same message by the button")
    assert studio.system.name == "the first robot"
    assert not open_page.errors


def test_several_files_are_refused(open_page, studio):
    assert open_page.evaluate(DRAG, ["drop", [["a.yaml", OTHER], ["b.yaml", OTHER]]])
    assert "not 2 files" in overlay(open_page)
    time.sleep(0.5)
    assert studio.system.name == "the first robot"


def test_a_dropped_file_is_loaded_twice(open_page, studio):
    """The last test of this studio, as it is another robot afterwards; a second file comes by the button that was made anew."""
    for name in ("the other robot", "a third one"):
        assert open_page.evaluate(DRAG, ["drop", [["finger.yaml", OTHER.replace("the other robot", name)]]])
        until(lambda name=name: studio.system.name == name, "the other robot")
        until(lambda name=name: open_page.get_by_text(name).count() == 1, "its name on the page")
        until(lambda: open_page.get_by_text("tip: (0.").count() == 1, "its equilibrium")
        open_page.get_by_role("button", name="Open a model file").wait_for(timeout=1000 * PATIENCE)
    assert not open_page.errors
    client = studio.server.get_clients()[max(studio.server.get_clients())]
    wanted = framed(studio.framing._recording, client.camera.image_width, client.camera.image_height)
    for _ in range(2):  # and it stays there
        until(lambda: abs(client.camera.position - wanted.position).max() < 1e-3, "the camera of the other robot")
        time.sleep(1.0)
