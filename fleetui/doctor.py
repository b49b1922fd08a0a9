"""`fleetui doctor`: keys and scopes, SSH, the store. Never prints a secret."""

import asyncio
import os
import shutil
from pathlib import Path

from fleetui.config import Settings, config_path
from fleetui.domain.check import Check, Health
from fleetui.domain.clock import parse_clock
from fleetui.domain.text import sanitise

API_SECONDS = 15.0


async def examine(settings: Settings) -> tuple[Check, ...]:
    """Look at everything that a collector and a console need; each look has a deadline."""
    checks = [_configuration(settings), *await _api(settings), *await _ssh(settings)]
    return (*checks, *await _store(settings))


def _check(part: str, health: Health, found: str, mend: str = "") -> Check:
    return Check(part=part, health=health, found=sanitise(found, 400), mend=sanitise(mend, 400))


def _configuration(settings: Settings) -> Check:
    path = config_path(os.environ)
    there = "read" if path.exists() else "not there, which is fine"
    return _check("settings", Health.GOOD, f"{path} {there}; profile {settings.profile}")


async def _api(settings: Settings) -> list[Check]:
    from fleetui.vast.keys import find_keys  # noqa: PLC0415 - only the doctor's patient waits

    keys = find_keys(os.environ, Path.home())
    if keys.read_key is None:
        return [
            _check(
                "API key",
                Health.BAD,
                "none found; looked at " + ", ".join(keys.places),
                "export VAST_API_KEY=..., or `vastai set api-key`; without one: `fleetui demo`",
            )
        ]
    checks = [_check("API key", Health.GOOD, "found")]
    if keys.write_key is None:
        checks.append(
            _check(
                "API key for acts",
                Health.POOR,
                "only a read key: restarts over SSH work, destroy and stop will be refused",
                "export VAST_API_KEY=... with the scope instance_write",
            )
        )
    return checks + await _scopes(settings)


async def _scopes(settings: Settings) -> list[Check]:
    import httpx  # noqa: PLC0415 - the same

    from fleetui.domain.instance import WalkOutcome  # noqa: PLC0415 - the same
    from fleetui.vast.client import ApiSettings, VastClient  # noqa: PLC0415 - the same
    from fleetui.vast.errors import VastError  # noqa: PLC0415 - the same
    from fleetui.vast.keys import find_keys  # noqa: PLC0415 - the same
    from fleetui.vast.limiter import Limiter  # noqa: PLC0415 - the same

    keys = find_keys(os.environ, Path.home())
    if keys.read_key is None:
        return []
    api = ApiSettings(base_url=settings.api_url, read_key=keys.read_key, write_key=keys.write_key)
    checks: list[Check] = []
    try:
        async with asyncio.timeout(API_SECONDS), httpx.AsyncClient() as http:
            client = VastClient(api, Limiter(), http, clock=parse_clock(settings.clock))
            walk = (await client.walk()).walk
            good = walk.outcome is WalkOutcome.COMPLETE
            checks.append(
                _check(
                    "scope instance_read",
                    Health.GOOD if good else Health.BAD,
                    f"the list of instances: {walk.rows} rows"
                    if good
                    else f"the list of instances: {walk.error}",
                    "" if good else "make a key with the scope instance_read in the Vast console",
                )
            )
            account = await client.account()
            money = "" if account.balance is None else f": balance ${account.balance:.2f}"
            checks.append(_check("scope user_read", Health.GOOD, f"the account{money}"))
    except VastError as error:
        checks.append(
            _check(
                "scope user_read",
                Health.POOR,
                f"the account cannot be read: {error}",
                "give the key user_read to see the balance; all else works without",
            )
        )
    except (TimeoutError, OSError, httpx.HTTPError) as error:
        reason = str(error) or type(error).__name__
        checks.append(
            _check("API", Health.BAD, f"{settings.api_url}: {reason}", "network, proxy, or api_url")
        )
    return checks


async def _ssh(settings: Settings) -> list[Check]:
    from fleetui.ssh.keys import load_keys  # noqa: PLC0415 - the same
    from fleetui.ssh.settings import SshSettings  # noqa: PLC0415 - the same

    files = settings.ssh_keys or _home_keys()
    ring = await load_keys(
        SshSettings(user=settings.ssh_user, key_files=files, use_agent=settings.ssh_agent)
    )
    count = len(ring.pairs)
    ring.close()
    agent = "SSH_AUTH_SOCK is set" if os.environ.get("SSH_AUTH_SOCK") else "no agent"
    checks = [
        _check(
            "SSH keys",
            Health.GOOD if count else Health.BAD,
            f"{count} can be offered ({agent}; {', '.join(map(str, files)) or 'no key files'})",
            "" if count else "ssh-add, or name a file with FLEETUI_SSH_KEY",
        )
    ]
    checks += [
        _check("SSH key", Health.POOR, str(problem), "ssh-add the key, or name another one")
        for problem in ring.problems
        if count
    ]
    if shutil.which("ssh") is None:
        checks.append(
            _check("ssh", Health.POOR, "no `ssh` on the PATH", "install OpenSSH for the shell key")
        )
    return checks


def _home_keys() -> tuple[Path, ...]:
    folder = Path.home() / ".ssh"
    names = ("id_ed25519", "id_ecdsa", "id_rsa")
    return tuple(folder / name for name in names if (folder / name).exists())


async def _store(settings: Settings) -> list[Check]:
    from fleetui.store.interface import StoreError  # noqa: PLC0415 - the same
    from fleetui.store.sqlite import SqliteStore  # noqa: PLC0415 - the same

    path = settings.store_path
    if not path.exists():
        return [_check("store", Health.POOR, f"{path}: not there yet", "start `fleetui` once")]
    try:
        store = await SqliteStore.open(path, clock=parse_clock(settings.clock), viewer=True)
    except StoreError as error:
        return [_check("store", Health.BAD, str(error), "see the text")]
    try:
        view = await store.fleet()
        totals = await store.log_totals()
    except StoreError as error:
        return [_check("store", Health.BAD, str(error), "see the text")]
    finally:
        await store.close()
    stored = getattr(totals, "stored", None)
    logs = "" if stored is None else f", {stored / 1048576:.0f} MiB of logs"
    free = shutil.disk_usage(path.parent).free
    low = free < 1 << 30
    return [
        _check(
            "store",
            Health.POOR if low else Health.GOOD,
            f"{path}: {len(view.rows)} instances{logs}, {free / (1 << 30):.1f} GiB free",
            "the disk is nearly full: lower log_megabytes or make room" if low else "",
        ),
        _check(
            "collector",
            Health.GOOD if view.lease_held else Health.POOR,
            "runs" if view.lease_held else "none runs",
            "" if view.lease_held else "`fleetui collect`, or any console starts one",
        ),
    ]


def text_of(checks: tuple[Check, ...]) -> str:
    """Return the answers as text, a mend below what needs one."""
    words = {Health.GOOD: "ok  ", Health.POOR: "poor", Health.BAD: "BAD "}
    lines: list[str] = []
    for check in checks:
        lines.append(f"{words[check.health]}  {check.part:<20} {check.found}")
        if check.mend:
            lines.append(f"{'':<28}-> {check.mend}")
    return "\n".join(lines)
