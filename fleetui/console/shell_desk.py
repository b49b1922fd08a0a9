"""What leaves the screen: a shell, copies to the clipboard, files."""

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from fleetui.console import clipboard
from fleetui.console.shell import (
    ShellRefusedError,
    ShellSettings,
    ShellTarget,
    copyable_command,
    print_until_key,
    run_shell,
    shell_target,
)
from fleetui.store.interface import StoreError

if TYPE_CHECKING:
    from fleetui.console.app import FleetApp

STORE_DEADLINE_SECONDS = 5.0


class ShellDesk:
    """Lends the terminal to ssh, fills the clipboard, writes files into one folder."""

    def __init__(self, app: "FleetApp", settings: ShellSettings, save_folder: Path | None) -> None:
        self._app = app
        self._shell = settings
        self._save_folder = save_folder

    def open_shell(self, instance_id: int) -> None:
        """Lend the terminal to a real `ssh` to the instance; the screen comes back after it."""
        self._app.work(self._run_shell(instance_id), f"shell {instance_id}", "shell")

    async def _run_shell(self, instance_id: int) -> None:
        try:
            target = await self._shell_target(instance_id)
        except ShellRefusedError as error:
            self._app.say(str(error), severity="error")
            return
        try:
            with self._app.suspend():
                self._app.lent = True
                status = await run_shell(target, self._shell)
        except SuspendNotSupported:
            self._app.say("this terminal cannot be lent to ssh", severity="error")
            return
        finally:
            self._app.lent = False
            self._app.action_redraw()
        self._app.say(
            f"shell on {instance_id} ended" + (f" with status {status}" if status else "")
        )

    def show_plain(self, text: str) -> None:
        """Lend the terminal to a text, for the terminal's own selection, until a key."""
        self._app.work(self._show_plain(text), "plain text", "shell")

    async def _show_plain(self, text: str) -> None:
        try:
            with self._app.suspend():
                self._app.lent = True
                await print_until_key(text)
        except SuspendNotSupported:
            self._app.say("this terminal cannot be lent to a text", severity="error")
            return
        finally:
            self._app.lent = False
            self._app.action_redraw()

    async def _shell_target(self, instance_id: int) -> ShellTarget:
        try:
            async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                instance = await self._app.store.instance(instance_id)
                key = await self._app.store.host_key(instance_id)
        except (StoreError, TimeoutError) as error:
            raise ShellRefusedError(f"the store does not answer: {error}") from error
        return shell_target(instance, instance_id, key)

    def copy_ssh_command(self, instance_id: int) -> None:
        """Put the ssh command of the instance on the clipboard."""
        self._app.work(self._copy_ssh_command(instance_id), f"ssh command {instance_id}", "copy")

    async def _copy_ssh_command(self, instance_id: int) -> None:
        try:
            target = await self._shell_target(instance_id)
        except ShellRefusedError as error:
            self._app.say(str(error), severity="error")
            return
        await self._copy(copyable_command(target, self._shell))

    def copy_text(self, text: str) -> None:
        """Put a text on the operator's clipboard; say how."""
        self._app.work(self._copy(text), "copy", "copy")

    async def _copy(self, text: str) -> None:
        try:
            self._app.say(await clipboard.copy(text, os.environ, self._app.write_terminal))
        except clipboard.ClipboardRefusedError as error:
            self._app.say(f"not copied: {error}", severity="error")

    def save(self, name: str, text: str) -> None:
        """Write a file and say where it is."""
        self._app.work(self._save(name, text), "save", "save")

    async def _save(self, name: str, text: str) -> None:
        if self._save_folder is None:
            self._app.say("there is no folder to save to", severity="error")
            return
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self._app.state.now()))
        stem, _, suffix = name.rpartition(".")
        path = self._save_folder / f"{stem}-{stamp}.{suffix}"
        try:
            await asyncio.to_thread(_write_file, path, text)
        except OSError as error:
            self._app.say(f"not saved: {path}: {error.strerror or error}", severity="error")
        else:
            self._app.say(f"saved: {path}")


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
