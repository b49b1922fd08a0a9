"""Names of files that are not read: whose reading changes something, never ends, or tells keys."""

import re
from fnmatch import fnmatchcase

_PATTERN_FREE = re.compile(r"/(?:proc|sys|run|dev)(?:/|\Z)")
_UNREAD = re.compile(
    r"/dev(?:/|\Z)"
    r"|/proc/(?:kmsg|kcore|kpage\w+|sysrq-trigger|acpi/event)\Z"
    r"|/proc/.*/(?:fd|root|cwd|exe|map_files|mem|pagemap|environ|auxv)(?:/|\Z)"
    r"|/sys/kernel/(?:debug|tracing)(?:/|\Z)"
    r"|.*(?:watchdog|trace_pipe)"
)
_KEYS = re.compile(
    r"(?i)(?:.*/)?(?:"
    r"(?:\.ssh|\.aws|\.gnupg|\.docker|\.kube|keystore)(?:/.*)?"
    r"|id_\w+|ssh_host_\w+_key|g?shadow-?|\.netrc|\.pgpass|\.env\b[^/]*|\.\w*history"
    r"|[^/]*(?:token|secret|credential|api_?key|private|passphrase|password)[^/]*"
    r"|[^/]*\.(?:pem|key|p12|pfx|jks|ppk|env))\Z"
)
_SUSPECTS = (
    "id_rsa", "id_ed25519", "id_ecdsa", "shadow", "gshadow", "token", "secret", "secrets",
    "credentials", "api_key", "apikey", "private", "password", "passphrase", "keystore", "x.pem",
    "x.key", "x.p12", "x.env", ".env", ".netrc", ".pgpass", ".ssh", "watchdog", "watchdog0",
    "vast_api_key", ".vast_api_key", "token.json", "secret.json", "secrets.json", "token.txt",
)  # fmt: skip
"""Names that no pattern may be able to mean."""


def plain(name: str) -> str:
    """Return the one spelling of a name: from the root, no empty part and no `.`.

    A relative name is taken as of the root, the most that it can reach. `..` stays: what it leads
    to only the host knows.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if parts[:2] == ["var", "run"]:
        del parts[0]
    return "/" + "/".join(parts)


def unread(name: str) -> str | None:
    """Say why the file of this name is not read, or `None`."""
    path = plain(name)
    if ".." in path.split("/"):
        return "names with .. are not read"
    if _UNREAD.match(path):
        return "it is not read: that may change something, never end, or tell secrets"
    if _KEYS.match(path):
        return "it is not read: it may hold a key, which nothing masks"
    return None


def pattern_unread(name: str, first: int) -> str | None:
    """Say why a name with a pattern (from the place `first` on) is not read, or `None`."""
    path = plain(name)
    folder, _, last = path.rpartition("/")
    if not name.startswith("/") or not folder or "/" in name[first:].rstrip("/"):
        return "a pattern must stand in the last part of a name, behind a folder such as /tmp/"
    if _PATTERN_FREE.match(path):
        return "a pattern must not be in /proc, /sys, /run or /dev; quote what is no file name"
    if any(fnmatchcase(suspect, last) for suspect in _SUSPECTS):
        return "the pattern may mean a file of keys; say more of the name"
    return None
