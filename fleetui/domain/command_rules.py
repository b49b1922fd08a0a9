"""What each program that only looks may be told.

An option that is not named here is refused, in long form also when abbreviated, for among the
others are those that write (`sort -o`), change (`nvidia-smi -r`, `date -s`), run programs
(`find -exec`) or never end (`tail -f`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Rule = Callable[[Sequence[str], bool], str | None]
"""Given the words behind the program's name and whether it is the first one of the command (and
so has no input), says why it may not run, or `None`."""

ANY = r".*"
_NUMBER = re.compile(r"-\d+")


@dataclass(frozen=True, kw_only=True)
class Options:
    """A program whose options are read in the usual manner: `-ab`, `-n 5`, `-n5`, `--name=value`.

    `flags` and `valued` are letters; `operand` is what an operand must match in full, `most` how
    many there may be; `number` allows `-5`; `reads` says that without a file it waits for input.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    operand: str = ANY
    most: int = 64
    number: bool = False
    reads: int | None = None

    def __call__(self, words: Sequence[str], first: bool) -> str | None:  # noqa: FBT001 - of a rule
        """Say why it may not run."""
        operands: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                operands += rest
                break
            if not word.startswith("-") or word == "-":
                operands.append(word)
                continue
            takes_next = self._option(word)
            if takes_next is None:
                return f"the option {word} is not among those that only look"
            if takes_next:
                if not rest:
                    return f"the option {word} needs a value"
                rest.pop(0)
        if len(operands) > self.most:
            return f"{operands[self.most]}: too many words"
        for operand in operands:
            if re.fullmatch(self.operand, operand) is None:
                return f"{operand} is not among what may be asked"
        files = [operand for operand in operands if operand != "-"]
        waits = self.reads is not None and len(files) <= self.reads
        if first and (waits or (self.reads is not None and "-" in operands[self.reads :])):
            return "it would wait for input: name a file"
        return None

    def _option(self, word: str) -> bool | None:
        """Tell whether an option takes the next word; `None` when it is not allowed."""
        if word.startswith("--"):
            return False if word[2:].partition("=")[0] in self.long else None
        if self.number and _NUMBER.fullmatch(word):
            return False
        for place, letter in enumerate(word[1:], 1):
            if letter in self.valued:
                return place == len(word) - 1
            if letter not in self.flags:
                return None
        return False


def _line(pattern: str) -> Rule:
    """Allow a program whose words, joined by blanks, match in full."""
    expression = re.compile(pattern)

    def rule(words: Sequence[str], first: bool) -> str | None:  # noqa: FBT001 - of a rule
        del first
        # A blank inside a word must not look like one between two.
        if any(" " in word or not word for word in words) or not expression.fullmatch(
            " ".join(words)
        ):
            return "with these words it is not among the forms that only look"
        return None

    return rule


def _long(names: str) -> frozenset[str]:
    return frozenset(names.split())


_GREP = Options(
    flags="EFGPacHhilLnoqsvwxzb",
    valued="emABC",
    long=_long("ignore-case invert-match count only-matching line-number text no-messages"),
    reads=1,
)
_SUM = Options(flags="bt", reads=0)
_NOTHING = Options(most=0)

RULES: dict[str, Rule] = {
    "cat": Options(flags="AbEeensTtv", reads=0),
    "cksum": _SUM,
    "curl": _line(
        r"(?:(?:-s|-S|-sS|-f|-m \d{1,2}) )*"
        r"http://(?:127\.0\.0\.1|localhost):\d+/(?:status|metrics|health)"
    ),
    "cut": Options(flags="s", valued="bcdf", reads=0),
    "cuzk-bench": _line(r"status|metrics"),
    "cuzk-daemon": _line(r"--version"),
    "curio": _line(r"--version"),
    "date": Options(flags="Ru", operand=r"\+.*", most=1),
    "df": Options(flags="aBhHiklPT", valued="tx"),
    "dmesg": Options(flags="krtTux", valued="lf", long=_long("level facility ctime"), most=0),
    "du": Options(flags="abchkmsSxL", valued="d", long=_long("max-depth apparent-size")),
    "egrep": _GREP,
    "fgrep": _GREP,
    "findmnt": Options(flags="alnrD", valued="oT"),
    "free": Options(flags="bghkmtw", most=0),
    "getconf": Options(flags="a"),
    "grep": _GREP,
    "head": Options(flags="qv", valued="cn", long=_long("lines bytes"), number=True, reads=0),
    "hostname": Options(flags="AdfIis", most=0),
    "id": Options(flags="Ggnru"),
    "ip": _line(
        r"(?:(?:-4|-6|-br|-brief|-s|-o|-j) )*"
        r"(?:a|addr|address|l|link|r|route|n|neigh|rule)(?: (?:show|list|ls))?"
    ),
    "ls": Options(flags="1AacdFGghHiklLnopqrsStUuvX", long=_long("time-style full-time")),
    "lsblk": Options(flags="abdfilmnOpPrst", valued="o"),
    "lscpu": Options(flags="aexyJp", most=0),
    "lsmod": _NOTHING,
    "lspci": Options(flags="Dkmntv", valued="ds", most=0),
    "md5sum": _SUM,
    "nproc": Options(long=_long("all"), most=0),
    "numactl": _line(r"-H|--hardware|-s|--show"),
    "nvcc": _line(r"--version|-V"),
    "nvidia-smi": _line(
        r"(?:|topo -m|nvlink -s|"
        r"(?:(?:-L|--list-gpus|-q|--query|-x|--xml-format|-i \w[\w.:,-]*|--id=[\w.:,-]+"
        r"|-d [A-Z_,]+|--display=[A-Z_,]+|--query-[a-z-]+=[\w.,-]+|--format=[a-z,]+)(?: |$))+)"
    ),
    "pgrep": Options(flags="acfilnovwx", valued="dgGPstuU"),
    "pidof": Options(flags="sx"),
    "printenv": _NOTHING,
    "ps": Options(
        flags="AaCcdeFfGgHhjLlmMNnOpqrSsTtUuVvwwXxyZ",
        valued="o",
        long=_long("no-headers no-heading sort forest ppid pid user format headers"),
        # An `e` among letters without a dash shows the environment.
        operand=r"[a-df-zA-Z]+|[\d,]+|[\w,=:%+-]*[=:%+][\w,=:%+-]*",
    ),
    "readlink": Options(flags="efmn"),
    "realpath": Options(flags="ems"),
    "sha256sum": _SUM,
    "sort": Options(flags="bcdfghiMnRrsuVz", valued="kt", most=0, reads=0),
    "ss": Options(flags="46aeHilmnOoprstuwx", valued="f"),
    "stat": Options(flags="fLt", valued="c", long=_long("format printf")),
    "sysctl": _line(r"(?:-n )?(?:-a|[a-z][a-z0-9_.-]*(?: [a-z][a-z0-9_.-]*)*)"),
    # Its old manner of options begins with `+`: `+1f` follows.
    "tail": Options(
        flags="qv", valued="cn", long=_long("lines bytes"), number=True, reads=0, operand=r"[^+].*"
    ),
    "top": _line(r"(?:-[cHi] )*-b (?:-[cHi] )*-n ?1(?: -[cHi]| -w \d+)*|-bn ?1"),
    "tr": Options(flags="cCdst", reads=2),
    "uname": Options(flags="aimnoprsv", most=0),
    "uniq": Options(flags="cdDiu", valued="fsw", most=0, reads=0),
    "uptime": Options(flags="ps", most=0),
    "vmstat": _line(r"(?:(?:-[asw]+|-S [kKmM])(?: |$))*(?:[1-9] [1-9])?"),
    "wc": Options(flags="cLlmw", reads=0),
    "whoami": _NOTHING,
}
"""Program to its rule; it is found by its bare name only."""

SEARCHES = frozenset({"grep", "egrep", "fgrep"})

TELLS_VARIABLES = frozenset({"printenv"})
"""Programs whose output is masked by the names in it, which another program could cut off."""

OPENS_NOTHING = frozenset({"df", "du", "findmnt", "ls", "lsblk", "readlink", "realpath", "stat"})
"""Programs that tell of files without opening them."""
