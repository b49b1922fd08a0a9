"""The operator's own SSH shell on an instance: the command, with the bound host key checked."""

import asyncio
import shlex
import signal
import tempfile
from pathlib import Path

import msgspec

from fleetui.domain.instance import Instance, Route, SshAddress

CONNECT_SECONDS = 12


class ShellSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How this machine logs in to instances."""

    user: str = "root"
    key_files: tuple[Path, ...] = ()
    use_agent: bool = True


class ShellTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where an instance is reached and the host key it must show (OpenSSH text)."""

    instance_id: int
    addresses: tuple[SshAddress, ...]
    host_key: str


class ShellRefusedError(Exception):
    """No shell can be opened; the text says why and what would help."""


def shell_target(instance: Instance | None, instance_id: int, host_key: str | None) -> ShellTarget:
    """Gather what a login needs: addresses, the direct one first, and the bound key.

    Raises:
        ShellRefusedError: there is no address, or no key is bound yet.
    """
    addresses = instance.ssh_addresses if instance is not None else ()
    if not addresses:
        raise ShellRefusedError(f"{instance_id} has no SSH address yet")
    if not host_key:
        raise ShellRefusedError(
            f"no host key is bound to {instance_id} yet: the collector binds the first one it"
            " sees when it connects; until then there is nothing to check a login against"
        )
    ordered = sorted(addresses, key=lambda address: address.route is not Route.DIRECT)
    return ShellTarget(instance_id=instance_id, addresses=tuple(ordered), host_key=host_key)


def known_hosts_line(address: SshAddress, key: str) -> str:
    """Return the line of a known_hosts file that binds the key to the address."""
    name = address.host if address.port == 22 else f"[{address.host}]:{address.port}"
    return f"{name} {key}\n"


def ssh_command(
    target: ShellTarget, address: SshAddress, settings: ShellSettings, known_hosts: Path
) -> list[str]:
    """Return the command of an interactive login that trusts the bound key and no other."""
    return [
        "ssh",
        *_options(target, settings),
        *("-o", f"UserKnownHostsFile={_quoted(known_hosts)}"),
        *("-o", "UpdateHostKeys=no"),
        *_place(address, settings),
    ]


def copyable_command(target: ShellTarget, settings: ShellSettings) -> str:
    """Return one line to paste elsewhere; it brings the key to check along (OpenSSH 8.5)."""
    address = target.addresses[0]
    key = f"KnownHostsCommand=/bin/echo %H {target.host_key}"
    return shlex.join([
        "ssh", *_options(target, settings), "-o", "UserKnownHostsFile=/dev/null", "-o", key,
        *_place(address, settings),
    ])  # fmt: skip


def _options(target: ShellTarget, settings: ShellSettings) -> list[str]:
    kind = target.host_key.split()[0]
    algorithms = "rsa-sha2-512,rsa-sha2-256" if kind == "ssh-rsa" else kind
    options = [
        *("-F", "none"),
        *("-o", "StrictHostKeyChecking=yes"),
        *("-o", "GlobalKnownHostsFile=/dev/null"),
        *("-o", f"HostKeyAlgorithms={algorithms}"),
        *("-o", f"ConnectTimeout={CONNECT_SECONDS}"),
    ]
    for path in settings.key_files:
        options += ["-i", str(path.expanduser())]
    if settings.key_files and not settings.use_agent:
        options += ["-o", "IdentitiesOnly=yes"]
    if not settings.use_agent:
        options += ["-o", "IdentityAgent=none"]
    return options


def _place(address: SshAddress, settings: ShellSettings) -> list[str]:
    return ["-p", str(address.port), "-l", settings.user, "--", address.host]


def _quoted(path: Path) -> str:
    """Write a path as ssh's configuration wants it."""
    return f'"{path}"'.replace("%", "%%")


async def run_shell(target: ShellTarget, settings: ShellSettings) -> int:
    """Run the login on this process's terminal and return its exit status.

    The addresses are tried in turn until one login succeeds. The terminal must be free: the
    caller has suspended the screen. What ssh said of a failure stays readable until enter.
    """
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    # While ssh connects the terminal still makes ^C a signal for us, too: it is ssh's.
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        with tempfile.TemporaryDirectory(prefix="fleetui-ssh-") as folder:
            return await _try_addresses(target, settings, Path(folder))
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


async def _try_addresses(target: ShellTarget, settings: ShellSettings, folder: Path) -> int:
    status = 255
    reached = folder / "reached"
    for address in target.addresses:
        known_hosts = folder / "known_hosts"
        known_hosts.write_text(known_hosts_line(address, target.host_key), "utf-8")
        command = ssh_command(target, address, settings, known_hosts)
        # ssh runs this on our side once the login is whole: a later 255 is then no bad address.
        note = [
            "-o",
            "PermitLocalCommand=yes",
            "-o",
            f"LocalCommand=: > {shlex.quote(str(reached))}",
        ]
        place = f"{address.route.value} {address.host}:{address.port}"
        await _say(f"FleetUI: {target.instance_id} at {place} - exit or ^D returns")
        process = await asyncio.create_subprocess_exec(command[0], *note, *command[1:])
        status = await process.wait()
        if reached.exists() or status != 255:
            break
    if status == 255:
        await _say("FleetUI: ssh ended with a failure; enter returns", wait=True)
    return status


async def print_until_key(text: str) -> None:
    """Print a text on this process's terminal and wait for a key; the terminal must be free."""
    script = (
        'cat; printf "\\n%s\\n" "-- any key returns --"; exec </dev/tty;'
        " before=$(stty -g); stty -icanon -echo -isig; dd bs=1 count=1 >/dev/null 2>&1;"
        ' stty "$before"'
    )
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, stdin=asyncio.subprocess.PIPE
    )
    await process.communicate(text.encode())


async def _say(words: str, *, wait: bool = False) -> None:
    script = 'printf "\\n%s\\n" "$1"' + ("; read -r _" if wait else "")
    process = await asyncio.create_subprocess_exec("sh", "-c", script, "sh", words)
    await process.wait()
