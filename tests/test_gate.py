"""Who may talk to a live page: only the page itself; and what a model says stays text in files."""

import gzip
import http.client
import json
import re
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.viz.html import decode_html
from pliant.viz.names import html_lines, node_name, script_json

viser = pytest.importorskip("viser")
from websockets.datastructures import Headers  # noqa: E402
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from pliant.viz import gate, live, scripted  # noqa: E402

NASTY = "<img src=x onerror=alert(1)></script><script>alert(2)</script>{{data}} & [a](b) ![c](d) `e`"


def robot(name="arm"):
    out = pl.Robot(name)
    rubber = pl.Material(young=1e6, poisson=0.5, density=1000, viscosity=1e4)
    out.add_rod(name, length=0.4, section=pl.Circle(0.02), material=rubber, strains=pl.Strains.planar_bending(1))
    out.add_tendon(f"{name} cable", name, y=0.01)
    return out


@pytest.fixture(scope="module")
def viewer():
    with pl.show(robot(), port=8381) as viewer:
        yield viewer


def headers(**values):
    out = Headers()
    for name, value in values.items():
        for entry in value if isinstance(value, list) else [value]:
            out[name] = entry
    return out


ALLOWED = [
    {"Host": "localhost:8080"},
    {"Host": "127.0.0.1:8080"},
    {"Host": "[::1]:8080"},
    {"Host": "192.168.1.7:9000"},  # an address is nobody's domain
    {"Host": "box:8080"},
    {"Host": "localhost:8080", "Origin": "http://localhost:8080"},
    {"Host": "localhost:9000", "Origin": "http://localhost:9000", "Upgrade": "websocket"},  # through an SSH tunnel
    {"Host": "box", "Origin": "https://box", "Upgrade": "WebSocket"},
]
REFUSED = [
    {},
    {"Host": ["localhost:8080", "localhost:8080"]},
    {"Host": "evil.example:8080"},  # DNS rebinding
    {"Host": "evil.example:8080", "Origin": "http://evil.example:8080", "Upgrade": "websocket"},
    {"Host": "localhost.evil.example"},
    {"Host": "localhost@evil.example"},
    {"Host": "localhost:8080/path"},
    {"Host": "localhost:port"},
    {"Host": ""},
    {"Host": "localhost:8080", "Upgrade": "websocket"},
    {"Host": "localhost:8080", "Origin": "http://evil.example", "Upgrade": "websocket"},
    {"Host": "localhost:8080", "Origin": "http://localhost:3000", "Upgrade": "websocket"},  # another server here
    {"Host": "localhost:8080", "Origin": "http://127.0.0.1:8080", "Upgrade": "websocket"},
    {"Host": "localhost:8080", "Origin": "null", "Upgrade": "websocket"},  # a file, a sandbox
    {"Host": "localhost:8080", "Origin": "file://localhost:8080", "Upgrade": "websocket"},
    {"Host": "localhost:8080", "Origin": "http://localhost:8080@evil.example", "Upgrade": "websocket"},
    {"Host": "localhost:8080", "Origin": "http://evil.example"},
    {"Host": "localhost:8080", "Origin": ["http://localhost:8080"] * 2, "Upgrade": "websocket"},
]


@pytest.mark.parametrize("values", ALLOWED)
def test_allowed(values):
    assert gate.refusal(headers(**values), "box") is None


@pytest.mark.parametrize("values", REFUSED)
def test_refused(values):
    assert gate.refusal(headers(**values), "127.0.0.1") is not None


def fetch(viewer, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server.get_port(), timeout=10)
    connection.request("GET", "/", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_page_is_served_under_names_of_this_machine(viewer):
    port = viewer.server.get_port()
    assert fetch(viewer, Host=f"localhost:{port}") == 200
    assert fetch(viewer, Host=f"127.0.0.1:{port}") == 200
    assert fetch(viewer, Host="rebound.example") == 403
    assert fetch(viewer, Host=f"localhost:{port}", Origin="http://evil.example") == 403


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://localhost:1"])
def test_a_socket_from_elsewhere_is_refused(viewer, origin):
    protocol = f"viser-v{viser.__version__}"
    port = viewer.server.get_port()
    with (
        pytest.raises(InvalidStatus) as error,
        connect(f"ws://localhost:{port}", origin=origin, subprotocols=[protocol]),
    ):
        pass
    assert error.value.response.status_code == 403


def test_a_socket_of_the_page_is_accepted(viewer):
    port = viewer.server.get_port()
    protocol = f"viser-v{viser.__version__}"
    with connect(f"ws://localhost:{port}", origin=f"http://localhost:{port}", subprotocols=[protocol]) as socket:
        assert len(socket.recv(timeout=10)) > 0


def test_other_servers_are_left_alone(viewer):
    import websockets.asyncio.server as module

    assert module.serve.__module__.startswith("websockets")


def test_a_viser_that_cannot_be_guarded_is_not_opened(monkeypatch):
    """As if it started its server in another way."""
    stopped = []

    class Other:
        def __init__(self, **options):
            pass

        def stop(self):
            stopped.append(True)

    monkeypatch.setattr(viser, "ViserServer", Other)
    with pytest.raises(RuntimeError, match="guarded"):
        live.open_server("name", "127.0.0.1", 8382)
    assert stopped


@pytest.mark.parametrize("packed", [True, False])
def test_the_page_has_the_script_of_pliant_first(viewer, packed):
    address = f"http://localhost:{viewer.server.get_port()}/"
    headers = {"Accept-Encoding": "gzip"} if packed else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
        body = answer.read()
        assert int(answer.headers["Content-Length"]) == len(body)
        assert answer.headers["Content-Encoding"] == ("gzip" if packed else "identity")
    page = gzip.decompress(body) if packed else body
    script = scripted.SCRIPT.read_bytes()
    assert page.count(script) == 1
    assert page.index(b"<script") == page.index(script) - len(b"<script>\n")
    assert b"</script" not in script  # it would end there
    original = Path(viser.__file__).parent / "client" / "build" / "index.html"
    assert page.replace(b"<script>\n" + script + b"</script>", b"") == original.read_bytes()


def test_a_page_without_a_place_for_the_script_says_so(monkeypatch):
    monkeypatch.setattr(scripted, "_PLACE", b"<no such place>")
    with pytest.warns(UserWarning, match="dropped"):
        server, _address = live.open_server("name", "127.0.0.1", 8385)
    live.close_server(server)


def test_a_page_for_the_network_says_so():
    with pytest.warns(UserWarning, match="no password"):
        server, address = live.open_server("name", "0.0.0.0", 8383)
    live.close_server(server)
    assert address.startswith("http://localhost:")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        server, _address = live.open_server("name", "127.0.0.1", 8383)
    live.close_server(server)


@pytest.mark.parametrize("host", ["256.1.1.1", "203.0.113.7", "", None])
def test_a_host_that_is_not_here(host):
    """viser would try a thousand ports and then wait for ever."""
    with pytest.raises((TypeError, ValueError), match="host = "):
        live.open_server("name", host, 8384)


def test_a_port_that_does_not_exist():
    with pytest.raises(ValueError, match="65535"):
        live.open_server("name", "127.0.0.1", 70000)


# ---------------------------------------------------------------- text stays text


def test_markup_in_panels():
    assert html_lines("<b>&\"'") == html_lines("").replace("<div></div>", "<div>&lt;b&gt;&amp;&quot;&#x27;</div>")
    assert node_name("a/b") == "a∕b"


def test_markup_in_scripts():
    text = script_json({"name": NASTY})
    assert json.loads(text) == {"name": NASTY}
    assert text.isascii()
    assert not re.search("[<>&]", text)


def test_markup_in_a_file(tmp_path):
    system = robot(NASTY).compile()
    path = pl.save_html(system, tmp_path / "robot.html")
    header, _arrays = decode_html(path)
    assert header["name"] == NASTY
    assert header["tubes"][0]["name"] == NASTY
    page = path.read_text(encoding="utf-8")
    assert "<img" not in page.split('<script type="module">')[0]
    assert page.count("</script>") == 3


def test_markup_in_the_studio():
    with pl.studio(robot(NASTY), port=8385) as studio:
        assert "<img" not in studio.report.content
        assert "&lt;img src=x" in studio.report.content
        studio._solve = None  # whatever goes wrong is told, too
        studio.set(**{f"{NASTY} cable": 1.0})
        assert studio.solved.wait(10)
        assert "cannot be solved" in studio.report.content
        assert "<img" not in studio.report.content
        assert np.all([handle.name.count("/") == 2 for handle in studio.stage.tubes])
