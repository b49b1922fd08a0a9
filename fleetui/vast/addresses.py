"""Where an instance's SSH can be tried, best first (facts: vast_api.md section 4, rule R7)."""

import re
from collections.abc import Mapping, Sequence

from fleetui.domain.instance import Route, SshAddress
from fleetui.vast.gates import text, whole

_HOST = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z.\-_]{0,252}[0-9A-Za-z])?|[0-9A-Fa-f:.]{2,45}")
_LAST_PORT = 65535


def ssh_addresses(
    *, public_ip: object, ports: object, ssh_host: object, ssh_port: object, runtype: object
) -> tuple[SshAddress, ...]:
    """Derive the candidates from the row's raw values: direct, proxy, the other proxy port.

    The proxy's port is one higher when the image serves Jupyter; the other one is kept as a last
    try. What is missing or odd simply yields no candidate.
    """
    found: list[SshAddress] = []
    direct_host, direct_port = _host(public_ip), _mapped_port(ports)
    if direct_host and direct_port:
        found.append(SshAddress(direct_host, direct_port, Route.DIRECT))
    proxy_host, proxy_port = _host(ssh_host), _port(ssh_port)
    if proxy_host and proxy_port:
        jupyter = isinstance(runtype, str) and "jupyter" in runtype
        for offset in (1, 0) if jupyter else (0, 1):
            port = proxy_port + offset
            if port <= _LAST_PORT:
                found.append(SshAddress(proxy_host, port, Route.PROXY))
    unique: dict[tuple[str, int], SshAddress] = {}
    for address in found:
        unique.setdefault((address.host, address.port), address)
    return tuple(unique.values())


def _host(value: object) -> str | None:
    safe = text(value)
    return str(safe) if safe and _HOST.fullmatch(safe) else None


def _port(value: object) -> int | None:
    port = whole(value)
    return port if port is not None and port <= _LAST_PORT else None


def _mapped_port(ports: object) -> int | None:
    """Find the outer port of 22/tcp; entries may be null, and the whole may be a bare list."""
    if not isinstance(ports, Mapping):
        return None
    entries = ports.get("22/tcp")
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return None
    for entry in entries:
        port = _port(entry.get("HostPort")) if isinstance(entry, Mapping) else None
        if port is not None:
            return port
    return None
