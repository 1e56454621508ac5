"""Who may talk to a live page: only the page itself, opened under a name that is this machine's.

A page in the browser is a web server on this machine. Any website that is open in the same browser can reach it, too: by
connecting to its websocket (which browsers allow, but say so in the header ``Origin``), or by letting its own domain name
point to this machine (DNS rebinding, seen in the header ``Host``). Both are refused here. viser has no option for that, so
its call of ``websockets.serve`` is wrapped while it starts; a version that starts in another way is not opened.
"""

from __future__ import annotations

import contextlib
import http
import ipaddress
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

__all__ = ["check_host", "guarded", "refusal", "warn_if_open"]

_LOCK = threading.Lock()


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host name spells, if it is one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine seen from itself."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def check_host(host: str) -> None:
    """Error unless a server can be bound to a host; viser would try for ever."""
    if not isinstance(host, str) or not host:
        raise TypeError(f"host = {host!r} must be a name or address of this machine, such as '127.0.0.1'.")
    try:
        kind, _type, _protocol, _name, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as trial:
            trial.bind(place)
    except OSError as error:
        raise ValueError(
            f"host = {host!r} is not allowed: no page can be opened there ({error}). Use '127.0.0.1' (this machine "
            "only), '0.0.0.0' (the network), or an address of this machine."
        ) from None


def warn_if_open(host: str, port: int) -> None:
    """Say it if others can reach a page."""
    if not is_loopback(host):
        warnings.warn(
            f"the page at host = {host!r}, port {port} can be seen and used by everyone who can reach this machine over "
            "the network; it has no password. Leave out `host` to keep it to this machine (and use an SSH tunnel).",
            stacklevel=4,
        )


def refusal(headers: Any, host: str) -> str | None:
    """Why a request is refused, or None.

    Parameters
    ----------
    headers : websockets Headers
    host : str
        What the server is bound to.

    Notes
    -----
    ``Host`` must be an address (a domain of somebody else is not one), localhost, or a name of this machine. ``Origin``
    must be the page itself: the same host and port. Browsers send it with every websocket, so there it must not be missing.
    """
    hosts = headers.get_all("Host")
    if len(hosts) != 1:
        return "one header 'Host' is needed"
    name = _host_name(hosts[0])
    if name is None:
        return f"'Host: {hosts[0]}' cannot be read"
    own = {"localhost", host.lower(), *_machine_names()}
    if _address(name) is None and name not in own and not name.endswith(".localhost"):
        return f"'Host: {hosts[0]}' is not a name of this machine"
    origins = headers.get_all("Origin")
    socket_wanted = any("websocket" in value.lower() for value in headers.get_all("Upgrade"))
    if not origins and not socket_wanted:
        return None
    if len(origins) != 1:
        return "one header 'Origin' is needed"
    place = urlsplit(origins[0])
    if place.scheme not in ("http", "https") or place.netloc.lower() != hosts[0].lower():
        return f"'Origin: {origins[0]}' is another page"
    return None


def _host_name(value: str) -> str | None:
    """The name in a header 'Host', without the port."""
    try:
        place = urlsplit(f"//{value}")
        _port = place.port  # raises for nonsense
    except ValueError:
        return None
    plain = place.path == place.query == place.fragment == "" and place.username is None
    return place.hostname.rstrip(".") if plain and place.hostname else None


def _machine_names() -> set[str]:
    """Names of this machine."""
    name = socket.gethostname().lower()
    return {name, f"{name}.local", name.split(".")[0]} - {""}


@contextlib.contextmanager
def guarded(host: str, answer: Callable[[Any], Any] = lambda response: response) -> Iterator[Callable[[], None]]:
    """Within the block, a viser server that starts answers only requests without a `refusal`; `answer` may change what it answers.

    Yields a function that raises if no server started under guard.
    """
    from websockets.asyncio import server as module

    started: list[bool] = []
    serve = module.serve

    def careful(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
        if "WebsockServer" not in getattr(handler, "__qualname__", ""):  # somebody else's, in another thread
            return serve(handler, *arguments, process_request=process_request, **options)
        started.append(True)

        def process(connection: Any, request: Any) -> Any:
            reason = refusal(request.headers, host)
            if reason is not None:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"refused: {reason}\n")
            return None if process_request is None else answer(process_request(connection, request))

        return serve(handler, *arguments, process_request=process, **options)

    def check() -> None:
        if not started:
            raise RuntimeError(
                "this version of viser starts its server in a way that cannot be guarded against other websites; "
                "install the version that pliant names: pip install 'pliant[viz]'."
            )

    with _LOCK:
        module.serve = careful  # type: ignore[assignment,misc]
        try:
            yield check
        finally:
            module.serve = serve  # type: ignore[misc]
