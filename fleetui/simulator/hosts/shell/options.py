"""Splitting a tool's arguments into options and operands."""


class UsageError(Exception):
    """The tool was called wrongly; the text says how."""


def options(
    args: list[str], flags: str, valued: str = "", long: tuple[str, ...] = ()
) -> tuple[dict[str, str], list[str]]:
    """Split `args`: single-letter `flags`, letters in `valued` that take a value, `--long[=v]`.

    Raises:
        UsageError: an unknown option or a missing value.
    """
    found: dict[str, str] = {}
    operands: list[str] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word == "--":
            operands.extend(args[index:])
            break
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            if name not in long:
                raise UsageError(f"unrecognized option '{word}'")
            found[name] = value
        elif word.startswith("-") and len(word) > 1:
            at = 1
            while at < len(word):
                letter = word[at]
                at += 1
                if letter in valued:
                    value = word[at:]
                    if not value:
                        if index >= len(args):
                            raise UsageError(f"option requires an argument -- '{letter}'")
                        value = args[index]
                        index += 1
                    found[letter] = value
                    break
                if letter not in flags:
                    raise UsageError(f"invalid option -- '{letter}'")
                found[letter] = ""
        else:
            operands.append(word)
    return found, operands
