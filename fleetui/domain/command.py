"""Commands that only look: what may be run on marked hosts, read strictly.

A command is programs joined by `|`. What a shell would expand, redirect or chain is refused, and
every program has the options that it may be given (`command_rules`). What is sent to a host is
put together anew from the words, each quoted, so that the host's shell sees these words and
nothing else. Only a file name pattern (`/tmp/*.log`) is left to it.
"""

import re
import shlex

import msgspec

from fleetui.domain.command_rules import OPENS_NOTHING, RULES

LONGEST = 1000
MOST_PROGRAMS = 8
_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./^-]")
_GLOB = "*?[]"
_UNREAD = ("/dev/", "/proc/kmsg", "trace_pipe", "..")
"""Parts of a name whose mere reading changes something, or hides where it leads."""
_PATTERN_FREE = ("/proc/", "/sys/", "/run/")


class CommandRefusedError(ValueError):
    """The command is not one that only looks; the text says why."""


class Word(msgspec.Struct, frozen=True):
    """One word: its text, and which of its characters are a pattern's for the host's shell."""

    text: str
    pattern: frozenset[int] = frozenset()

    @property
    def quoted(self) -> str:
        """The word as the host's shell is given it."""
        if not self.pattern:
            return shlex.quote(self.text)
        return "".join(
            letter if place in self.pattern else shlex.quote(letter)
            for place, letter in enumerate(self.text)
        )


class Command(msgspec.Struct, frozen=True):
    """A command that only looks: the words of each program, joined by pipes."""

    programs: tuple[tuple[Word, ...], ...]

    @property
    def script(self) -> str:
        """What is run on a host."""
        return " | ".join(" ".join(word.quoted for word in program) for program in self.programs)


def parse_command(text: str) -> Command:
    """Read a command that only looks.

    Raises:
        CommandRefusedError: it is none, or not surely one.
    """
    if len(text) > LONGEST:
        raise CommandRefusedError(f"a command has at most {LONGEST} characters")
    programs = _split(text)
    if len(programs) > MOST_PROGRAMS:
        raise CommandRefusedError(f"at most {MOST_PROGRAMS} programs may be joined by |")
    for place, words in enumerate(programs):
        if not words:
            raise CommandRefusedError(
                "there is no command" if len(programs) == 1 else "an end of | has no program"
            )
        _check(words, first=place == 0)
    return Command(tuple(tuple(words) for words in programs))


def _check(words: list[Word], *, first: bool) -> None:
    name = words[0].text
    rule = RULES.get(name)
    if rule is None or words[0].pattern:
        raise CommandRefusedError(
            f"{name} is not among the programs that only look: {', '.join(sorted(RULES))}"
        )
    for word in words[1:]:
        for part in () if name in OPENS_NOTHING else _UNREAD:
            if part in word.text and "/" in word.text:
                raise CommandRefusedError(f"{word.text}: names with {part} are not read")
        if word.pattern:
            _check_pattern(word)
    reason = rule([word.text for word in words[1:]], first)
    if reason:
        raise CommandRefusedError(f"{name}: {reason}")


def _check_pattern(word: Word) -> None:
    before = word.text[: min(word.pattern)]
    # What it expands to begins with `/`, and is thus never an option.
    if not before.startswith("/") or before.count("/") < 2 or before.startswith(_PATTERN_FREE):
        raise CommandRefusedError(
            f"{word.text}: a pattern must begin with a folder such as /tmp/, and not with"
            " /proc, /sys or /run; quote what is no file name"
        )


class _Splitter:
    """Reads letter by letter as a shell does, and refuses what a shell would act on."""

    def __init__(self) -> None:
        self.programs: list[list[Word]] = [[]]
        self._letters: list[str] = []
        self._pattern: set[int] = set()
        self._open = False
        self.quote = ""

    def end_word(self) -> None:
        if self._open:
            self.programs[-1].append(Word("".join(self._letters), frozenset(self._pattern)))
        self._letters.clear()
        self._pattern.clear()
        self._open = False

    def take(self, letter: str) -> None:
        if not letter.isprintable():
            raise CommandRefusedError("line ends and control characters are not allowed")
        if self.quote:
            self._take_quoted(letter)
        elif letter in "'\"":
            self.quote = letter
            self._open = True
        elif letter in " |":
            self.end_word()
            if letter == "|":
                self.programs.append([])
        else:
            self._take_bare(letter)

    def _take_quoted(self, letter: str) -> None:
        if letter == self.quote:
            self.quote = ""
        elif self.quote == '"' and letter in "$`\\!":
            raise CommandRefusedError(f"{letter} within double quotes is not allowed")
        else:
            self._letters.append(letter)

    def _take_bare(self, letter: str) -> None:
        if letter in _GLOB:
            self._pattern.add(len(self._letters))
        elif not _BARE.match(letter):
            raise CommandRefusedError(
                f"{letter} is not allowed: no redirection, no chaining, no expansion; quote what"
                " is meant as text"
            )
        self._letters.append(letter)
        self._open = True


def _split(text: str) -> list[list[Word]]:
    splitter = _Splitter()
    for letter in text:
        splitter.take(letter)
    if splitter.quote:
        raise CommandRefusedError(f"a {splitter.quote} is not closed")
    splitter.end_word()
    return splitter.programs
