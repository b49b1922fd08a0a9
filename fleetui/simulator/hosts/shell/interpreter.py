"""Runs a syntax tree over a virtual machine."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from fleetui.simulator.hosts.shell import builtins
from fleetui.simulator.hosts.shell.arithmetic import BadArithmeticError
from fleetui.simulator.hosts.shell.expansion import BadExpansionError, Expander
from fleetui.simulator.hosts.shell.options import UsageError
from fleetui.simulator.hosts.shell.parser import ShellSyntaxError, parse
from fleetui.simulator.hosts.shell.patterns import compile_pattern
from fleetui.simulator.hosts.shell.streams import (
    Buffer,
    BytesReader,
    ClosedPipeError,
    FileReader,
    FileWriter,
    Pipe,
    Reader,
    Writer,
)
from fleetui.simulator.hosts.shell.syntax import (
    AndOr,
    Case,
    For,
    Function,
    Group,
    If,
    Loop,
    Node,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
)

if TYPE_CHECKING:
    from fleetui.simulator.hosts.machine import Machine

BROKEN_PIPE = 141


class Leave(Exception):  # noqa: N818 - not an error: `exit` on its way out
    """`exit`, `return`, `break` or `continue` on its way out."""

    def __init__(self, kind: str, value: int) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


class CommandError(Exception):
    """An error that ends the command with a message and a status."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


@dataclasses.dataclass
class Call:
    """What a tool gets: its arguments, its streams and the shell it runs in."""

    name: str
    args: list[str]
    stdin: Reader
    stdout: Writer
    stderr: Writer
    shell: "Shell"
    environment: dict[str, str]
    failed: bool = False

    @property
    def machine(self) -> "Machine":
        """The machine the tool runs on."""
        return self.shell.machine

    async def out(self, text: str) -> None:
        """Write text (one character is one byte) to stdout."""
        await self.stdout.write(text.encode("latin-1"))

    async def error(self, text: str) -> None:
        """Write a line to stderr."""
        await self.stderr.write(text.encode("latin-1", "replace") + b"\n")

    def path(self, text: str) -> str:
        """Resolve a path against the shell's folder; `/proc/self/fd/N` is the file open there."""
        if text == "/proc/self/fd":
            return "/"
        number = text.removeprefix("/proc/self/fd/")
        if number != text and number.isdigit():
            reader = self.shell.readers.get(int(number))
            if isinstance(reader, FileReader) and reader.node is not None:
                return self.machine.files.open_path(reader.node)
        return self.machine.files.resolve(text, self.shell.cwd)


Tool = Callable[[Call], Awaitable[int]]


class Shell:
    """One shell process. `tools` are the commands it finds besides its own."""

    def __init__(
        self,
        machine: "Machine",
        tools: Mapping[str, Tool],
        *,
        environment: Mapping[str, str],
        positional: list[str] | None = None,
        name: str = "sh",
        pid: int = 1000,
    ) -> None:
        self.machine = machine
        self.tools = tools
        self.variables: dict[str, str] = {"IFS": " \t\n", "PWD": "/root", **environment}
        self.exported: set[str] = set(environment)
        self.functions: dict[str, Node] = {}
        self.positional = positional or []
        self.name = name
        self.pid = pid
        self.cwd = "/root"
        self.status = 0
        self.last_background = ""
        self.options: set[str] = set()
        self.readers: dict[int, Reader] = {0: Reader()}
        self.writers: dict[int, Writer] = {1: Writer(), 2: Writer()}
        self.background: set[asyncio.Task[int]] = set()
        self._expander = Expander(self)
        self.tested = 0
        self._runners: dict[type, Callable[[Node], Awaitable[int]]] = {}

    def fork(self) -> "Shell":
        """Return a subshell: a copy that shares only the streams and the machine."""
        child = object.__new__(Shell)
        child.__dict__.update(self.__dict__)
        child.variables = dict(self.variables)
        child.exported = set(self.exported)
        child.functions = dict(self.functions)
        child.positional = list(self.positional)
        child.options = set(self.options)
        child.readers = dict(self.readers)
        child.writers = dict(self.writers)
        child._expander = Expander(child)
        child._runners = {}
        return child

    async def run_text(self, text: str) -> int:
        """Parse and run a program; returns its exit status."""
        try:
            tree = parse(text)
        except ShellSyntaxError as error:
            await self.complain(f"{self.name}: 1: Syntax error: {error}")
            return 2
        return await self.run_program(tree)

    async def run_program(self, tree: Node) -> int:
        """Run a tree as a program of its own: `exit` ends it."""
        try:
            self.status = await self.run(tree)
        except Leave as leave:
            if leave.kind in {"exit", "return"}:
                self.status = leave.value
        except CommandError as fault:
            await self.complain(f"{self.name}: 1: {fault}")
            self.status = fault.status
        except ClosedPipeError:
            self.status = BROKEN_PIPE
        return self.status

    async def run_line(self, text: str) -> None:
        """Run one line typed at a prompt; only `exit` (a Leave) gets out."""
        try:
            await self.run(parse(text))
        except ShellSyntaxError as error:
            await self.complain(f"{self.name}: 1: Syntax error: {error}")
            self.status = 2
        except CommandError as fault:
            await self.complain(f"{self.name}: 1: {fault}")
            self.status = fault.status
        except Leave as leave:
            if leave.kind == "exit":
                raise

    async def complain(self, text: str) -> None:
        """Write a line to stderr."""
        await self.writers[2].write(text.encode("latin-1", "replace") + b"\n")

    # ------------------------------------------------------------------ nodes

    async def run(self, node: Node) -> int:
        """Run one node; returns its status."""
        kind = type(node)
        runner = self._runners.get(kind)
        if runner is None:
            runner = self._runners[kind] = getattr(self, f"_run_{kind.__name__.lower()}")
        self.status = await runner(node)
        return self.status

    async def _run_sequence(self, node: Sequence) -> int:
        status = 0
        for item, background in node.items:
            if background:
                self._start(item)
                status = 0
            else:
                status = await self.run(item)
                if status and "e" in self.options and not self.tested:
                    raise Leave("exit", status)
        return status

    def _start(self, node: Node) -> None:
        child = self.fork()
        child.readers[0] = Reader()
        child.pid = self.machine.next_pid()
        child.background = set()  # it does not wait for itself
        self.last_background = str(child.pid)
        task = asyncio.create_task(child.run_program(node), name=f"shell-job-{child.pid}")
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    async def _run_andor(self, node: AndOr) -> int:
        self.tested += 1
        try:
            status = await self.run(node.first)
            for op, item in node.rest:
                if (status == 0) == (op == "&&"):
                    status = await self.run(item)
        finally:
            self.tested -= 1
        return status

    async def _run_pipeline(self, node: Pipeline) -> int:
        status = (
            await self._piped(node.commands)
            if len(node.commands) > 1
            else await self.run(node.commands[0])
        )
        return int(not status) if node.negated else status

    async def _piped(self, commands: tuple[Node, ...]) -> int:
        reader = self.readers[0]
        tasks: list[asyncio.Task[int]] = []
        try:
            for index, command in enumerate(commands):
                child = self.fork()
                child.readers[0] = reader
                out: Pipe | None = None
                if index < len(commands) - 1:
                    out = Pipe()
                    child.writers[1] = out
                    child.background = set()
                source = reader if index else None
                tasks.append(
                    asyncio.create_task(_stage(child, command, source, out), name="shell-pipe")
                )
                if out is not None:
                    reader = out
            return (await asyncio.gather(*tasks))[-1]
        finally:
            for task in tasks:
                task.cancel()

    async def _run_if(self, node: If) -> int:
        for condition, body in node.branches:
            if await self._test(condition):
                return await self.run(body)
        return await self.run(node.otherwise) if node.otherwise is not None else 0

    async def _test(self, node: Node) -> bool:
        self.tested += 1
        try:
            return await self.run(node) == 0
        finally:
            self.tested -= 1

    async def _run_loop(self, node: Loop) -> int:
        status = 0
        rounds = 0
        while await self._test(node.condition) != node.until:
            rounds += 1
            if not rounds % 64:
                await asyncio.sleep(0)
            try:
                status = await self.run(node.body)
            except Leave as leave:
                if self._leaves_loop(leave):
                    break
        return status

    @staticmethod
    def _leaves_loop(leave: Leave) -> bool:
        """Say whether `leave` ends this loop (else: goes on); passes on what is not for it."""
        if leave.kind not in {"break", "continue"}:
            raise leave
        if leave.value > 1:
            leave.value -= 1
            raise leave
        return leave.kind == "break"

    async def _run_for(self, node: For) -> int:
        if node.words is None:
            values = list(self.positional)
        else:
            values = await self.expand(node.words)
        status = 0
        for value in values:
            self.variables[node.name] = value
            try:
                status = await self.run(node.body)
            except Leave as leave:
                if self._leaves_loop(leave):
                    break
        return status

    async def _run_case(self, node: Case) -> int:
        value = await self._expander.single(node.word)
        for patterns, body in node.arms:
            for word in patterns:
                pattern = await self._expander.pattern(word)
                if compile_pattern(pattern).fullmatch(value):
                    return await self.run(body)
        return 0

    async def _run_group(self, node: Group) -> int:
        if not node.subshell and not node.redirections:
            return await self.run(node.body)
        if node.subshell:
            child = self.fork()
            try:
                await child.redirect(node.redirections)
            except CommandError as fault:
                await self.complain(f"{self.name}: 1: {fault}")
                return fault.status
            return await child.run_program(node.body)
        readers, writers = dict(self.readers), dict(self.writers)
        try:
            await self.redirect(node.redirections)
            return await self.run(node.body)
        except CommandError as fault:
            self.writers = writers
            await self.complain(f"{self.name}: 1: {fault}")
            return fault.status
        finally:
            self.readers, self.writers = readers, writers

    async def _run_function(self, node: Function) -> int:
        self.functions[node.name] = node.body
        return 0

    # ------------------------------------------------------------------ commands

    async def expand(self, words: tuple[tuple[object, ...], ...]) -> list[str]:
        """Expand words to fields."""
        try:
            return await self._expander.fields(words)  # type: ignore[arg-type] # words are Words
        except (BadExpansionError, BadArithmeticError) as error:
            raise CommandError(str(error)) from error

    async def _run_simple(self, node: Simple) -> int:
        self._expander.substituted = 0
        fields = await self.expand(node.words)
        try:
            assigned = [
                (name, await self._expander.single(word)) for name, word in node.assignments
            ]
        except (BadExpansionError, BadArithmeticError) as error:
            raise CommandError(str(error)) from error
        if not fields:
            self.variables.update(assigned)
            if not node.redirections:
                return self._expander.substituted
        readers, writers = self.readers, self.writers
        if node.redirections:
            self.readers, self.writers = dict(readers), dict(writers)
            try:
                await self.redirect(node.redirections)
            except CommandError as fault:
                self.readers, self.writers = readers, writers
                await self.complain(f"{self.name}: 1: {fault}")
                return fault.status
        try:
            if fields in (["exec"], ["command", "exec"]):
                readers, writers = self.readers, self.writers
                return 0
            return await self.call(fields, dict(assigned)) if fields else 0
        finally:
            # Without redirections of its own, what an `exec` inside it opened stays open.
            if node.redirections:
                self.readers, self.writers = readers, writers

    async def call(self, fields: list[str], assigned: dict[str, str]) -> int:
        """Run a function, a command of the shell or a tool."""
        name = fields[0]
        special = builtins.SPECIAL.get(name)
        if special is not None:
            self.variables.update(assigned)
            return await special(self, fields[1:])
        function = self.functions.get(name)
        if function is not None:
            self.variables.update(assigned)
            kept, self.positional = self.positional, fields[1:]
            try:
                return await self.run(function)
            except Leave as leave:
                if leave.kind != "return":
                    raise
                return leave.value
            finally:
                self.positional = kept
        plain = builtins.PLAIN.get(name)
        if plain is not None:
            return await plain(self, fields[1:])
        environment = {key: self.variables.get(key, "") for key in self.exported} | assigned
        return await self.execute(fields, environment)

    async def execute(self, fields: list[str], environment: dict[str, str]) -> int:
        """Run a tool or a program of the machine."""
        name = fields[0]
        base = name.rsplit("/", 1)[-1]
        tool = self.tools.get(base)
        if tool is None and self.machine.has_program(base):
            tool = self.tools["@program"]
        if tool is None:
            if "/" in name:
                await self.complain(f"{self.name}: 1: {name}: not found")
            else:
                await self.complain(f"{self.name}: 1: {name}: not found")
            return 127
        call = Call(
            name, fields[1:], self.readers[0], self.writers[1], self.writers[2], self, environment
        )
        try:
            return await tool(call)
        except UsageError as fault:
            await call.error(f"{base}: {fault}")
            return 2 if base in {"grep", "sort", "ls"} else 1

    async def substitute(self, body: Node) -> str:
        """Run a command substitution; returns its output without trailing line ends."""
        child = self.fork()
        buffer = Buffer()
        child.writers[1] = buffer
        self._expander.substituted = await child.run_program(body)
        self.status = self._expander.substituted
        return buffer.data.replace(b"\0", b"").decode("latin-1").rstrip("\n")

    async def redirect(self, redirections: list[Redirection]) -> None:
        """Apply redirections to this shell's streams.

        Raises:
            CommandError: a file cannot be opened.
        """
        for redirection in redirections:
            target = await self._expander.single(redirection.target)
            if redirection.op == "<<":
                self.readers[redirection.fd] = BytesReader(target.encode("latin-1"))
            elif redirection.op in {">&", "<&"}:
                self._duplicate(redirection.fd, target)
            else:
                self._open(redirection.fd, redirection.op, target)

    def _duplicate(self, fd: int, target: str) -> None:
        if target == "-":
            self.readers.pop(fd, None)
            self.writers.pop(fd, None)
            if fd == 0:
                self.readers[0] = Reader()
            elif fd in {1, 2}:
                self.writers[fd] = Writer()
            return
        source = int(target) if target.isdigit() else -1
        if source in self.writers:
            self.writers[fd] = self.writers[source]
        elif source in self.readers:
            self.readers[fd] = self.readers[source]
        else:
            raise CommandError(f"{target}: Bad file descriptor")

    def _open(self, fd: int, op: str, target: str) -> None:
        files = self.machine.files
        path = files.resolve(target, self.cwd)
        if op in {"<", "<>"}:
            if path == "/dev/null":
                self.readers[fd] = Reader()
                return
            if not files.exists(path) or files.is_folder(path):
                raise CommandError(f"cannot open {target}: No such file")
            self.readers[fd] = FileReader(files.opener(path), files.stat(path))
            return
        if path == "/dev/null":
            self.writers[fd] = Writer()
            return
        if path in {"/dev/stdout", "/dev/stderr"}:
            self.writers[fd] = self.writers[1 if path.endswith("out") else 2]
            return
        if files.is_folder(path):
            raise CommandError(f"cannot create {target}: Is a directory")
        if not files.is_folder(path.rpartition("/")[0] or "/"):
            raise CommandError(f"cannot create {target}: Directory nonexistent")
        node = files.open_for_writing(path, truncate=op == ">")
        self.writers[fd] = FileWriter(lambda data: files.extend(node, data), path)


async def _stage(child: Shell, command: Node, source: Reader | None, out: Pipe | None) -> int:
    try:
        status = await child.run_program(command)
        if out is not None:  # what it left in the background writes to the pipe as well
            await asyncio.gather(*child.background, return_exceptions=True)
        return status
    finally:
        if out is not None:
            out.end()
        if isinstance(source, Pipe):
            source.abandon()
