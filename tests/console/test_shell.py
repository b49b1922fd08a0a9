import getpass
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console_pilot import console
from fleetui.console.shell import (
    ShellRefusedError,
    ShellSettings,
    ShellTarget,
    copyable_command,
    known_hosts_line,
    shell_target,
    ssh_command,
)
from fleetui.domain.instance import Instance, Route, SshAddress
from openssh import Sshd, make_key, serving
from terminal import Tmux

SUPPORT = Path(__file__).parents[1] / "support"
PROXY = SshAddress("ssh4.example", 20114, Route.PROXY)
DIRECT = SshAddress("203.0.113.9", 41022, Route.DIRECT)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJ1aWx0LWZvci1hLXRlc3Qtb25seS0tLS0tLS0t"


def test_the_direct_address_comes_first_and_only_the_bound_key_is_trusted() -> None:
    target = shell_target(Instance(instance_id=7, ssh_addresses=(PROXY, DIRECT)), 7, KEY)
    assert target.addresses == (DIRECT, PROXY)
    command = ssh_command(target, DIRECT, ShellSettings(), Path("/tmp/a b/known_hosts"))
    assert "StrictHostKeyChecking=yes" in command
    assert 'UserKnownHostsFile="/tmp/a b/known_hosts"' in command
    assert command[-4:] == ["-l", "root", "--", "203.0.113.9"]
    assert known_hosts_line(DIRECT, KEY) == f"[203.0.113.9]:41022 {KEY}\n"
    assert known_hosts_line(SshAddress("h", 22, Route.DIRECT), KEY) == f"h {KEY}\n"


def test_without_address_or_key_it_says_what_is_missing() -> None:
    with pytest.raises(ShellRefusedError, match="no SSH address"):
        shell_target(Instance(instance_id=7), 7, KEY)
    with pytest.raises(ShellRefusedError, match="no host key is bound"):
        shell_target(Instance(instance_id=7, ssh_addresses=(DIRECT,)), 7, None)


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    with serving(tmp_path) as server:
        yield server


def bound_key(server: Sshd) -> Path:
    return server.host_key.with_suffix(".pub")


def stage(server: Sshd, *more: str) -> list[str]:
    script = str(SUPPORT / "shell_stage.py")
    return [sys.executable, script, str(server.port), str(server.folder / "client_key"), *more]


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    terminal = Tmux()
    yield terminal
    terminal.end()


def start(tmux: Tmux, command: list[str], folder: Path) -> None:
    tmux.start(
        command, (120, 40), folder, PYTHONPATH=str(SUPPORT), LOGIN_AS=getpass.getuser(),
        TERM="tmux-256color", HOME=str(folder),
    )  # fmt: skip
    tmux.wait_for("20110148")


def test_s_opens_a_real_shell_and_the_screen_comes_back(tmux: Tmux, sshd: Sshd) -> None:
    start(tmux, stage(sshd, str(bound_key(sshd))), sshd.folder)
    before = tmux.wait_for("Restart the daemon").splitlines()[1:-2]
    tmux.keys("s")
    tmux.wait_for("exit or ^D returns")
    tmux.keys("echo in-$((40+2))-shell", "Enter")
    tmux.wait_for("in-42-shell")
    # ^C belongs to the shell, not to the console behind it.
    tmux.keys("sleep 100", "Enter")
    tmux.keys("C-c")
    tmux.keys("", "Enter")
    tmux.keys("echo after-$((40+3))", "Enter")
    tmux.wait_for("after-43")
    tmux.keys("exit 0", "Enter")
    screen = tmux.wait_for("shell on 20110148 ended")
    assert "in-42-shell" not in screen
    # Ages may have grown by a word; the rest stands where it stood.
    after = screen.splitlines()[1:-2]
    same = sum(a == b for a, b in zip(before, after, strict=True))
    assert same > len(before) * 3 // 4, screen
    tmux.keys("q")
    tmux.wait_for("exit-status=0")


def test_another_host_key_than_the_bound_one_ends_the_login(tmux: Tmux, sshd: Sshd) -> None:
    other = make_key(sshd.folder / "other").with_suffix(".pub")
    start(tmux, stage(sshd, str(other)), sshd.folder)
    tmux.keys("s")
    screen = tmux.wait_for("enter returns")
    assert "Host key verification failed" in screen or "host key" in screen.lower()
    tmux.keys("Enter")
    tmux.wait_for("ended with status 255")
    tmux.keys("q")
    tmux.wait_for("exit-status=0")


def test_the_copied_command_logs_in_by_itself(sshd: Sshd) -> None:
    key = " ".join(bound_key(sshd).read_text().split()[:2])
    settings = ShellSettings(
        user=getpass.getuser(), key_files=(sshd.folder / "client_key",), use_agent=False
    )
    for bound, status in ((key, 0), (KEY, 255)):
        target = ShellTarget(instance_id=7, addresses=(sshd.address,), host_key=bound)
        line = copyable_command(target, settings)
        done = subprocess.run(
            ["sh", "-c", f"{line} echo in-by-paste"],
            capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        assert ("in-by-paste" in done.stdout) is (status == 0)


async def test_without_a_bound_key_s_says_so() -> None:
    async with console() as run:
        chosen = run.cursor
        assert chosen is not None
        run.store.instances[chosen] = Instance(instance_id=chosen, ssh_addresses=(DIRECT,))
        await run.press("s")
        await run.shows("no host key is bound to")
        await run.press("C")
        await run.shows("no host key is bound to")
