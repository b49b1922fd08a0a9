"""One frozen settings object: defaults < file < environment < flags."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import platformdirs

from fleetui.domain.clock import parse_clock
from fleetui.domain.policy import Policy
from fleetui.domain.redaction import redact
from fleetui.domain.rental import Deploy
from fleetui.domain.role import Role

DEFAULT_API_URL = "https://console.vast.ai"

ENVIRONMENT = {
    "VAST_URL": "api_url",
    "FLEETUI_STATE_DIR": "state_dir",
    "FLEETUI_PROFILE": "profile",
    "FLEETUI_SSH_KEY": "ssh_keys",
    "FLEETUI_SSH_USER": "ssh_user",
    "FLEETUI_WALK_INTERVAL": "walk_interval_seconds",
    "FLEETUI_SNAPSHOT_SECONDS": "snapshot_seconds",
    "FLEETUI_CLOCK": "clock",
    "FLEETUI_READ_ONLY": "read_only",
    "FLEETUI_ROLE": "role",
    "FLEETUI_ASCII": "ascii_only",
    "FLEETUI_THEME": "theme",
}
"""Environment variable to setting. API keys are not settings: see `fleetui.vast.keys`."""


_RANGES = {
    "walk_interval_seconds": (1.0, 3600.0),
    "snapshot_seconds": (1.0, 600.0),
    "request_expiry_minutes": (0.5, 1440.0),
}

THEMES = ("terminal", "dark", "light", "safe", "mono")
"""Colours that the console can draw in."""


class ConfigError(Exception):
    """A setting cannot be used; the text names the place and what to do."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the operator can choose. Holds no secret: keys are looked up where they are used.

    Times are real seconds; `snapshot_seconds` is how long the last look at a host may take before
    it is destroyed; `log_megabytes` limits the stored logs in all, and
    `log_megabytes_per_instance` those of one instance (compressed bytes, oldest go first).
    """

    state_dir: Path
    api_url: str = DEFAULT_API_URL
    profile: str = "cuzk"
    profile_dir: Path | None = None
    ssh_user: str = "root"
    ssh_keys: tuple[Path, ...] = ()
    ssh_agent: bool = True
    walk_interval_seconds: float = 15.0
    snapshot_seconds: float = 20.0
    log_megabytes: int = 2048
    log_megabytes_per_instance: int = 64
    blast_radius_instances: int = 10
    blast_radius_share: float = 0.2
    acts_per_minute: int = 10
    request_expiry_minutes: float = 15.0
    policy: Policy = Policy()
    deploy: Deploy = Deploy()
    read_only: bool = False
    role: Role = Role.OWNER
    """What may be asked for from here, and by anybody of a collector with these settings."""
    roles: dict[str, Role] = {}
    """What the collector carries out for whom; see `domain.role.role_of`."""
    ascii_only: bool = False
    theme: str = ""
    keys: dict[str, str | list[str]] = {}
    """Action id to the keys that the console has for it instead of its own."""
    clock: str = ""

    def __post_init__(self) -> None:
        if not self.api_url.startswith(("http://", "https://")):
            raise ValueError(f"api_url must start with http:// or https://, not {self.api_url!r}")
        try:
            named = urlsplit(self.api_url).hostname and urlsplit(self.api_url).port != 0
        except ValueError:
            named = False
        if not named:
            raise ValueError(
                f"api_url names no host and port that can be reached: {self.api_url!r}"
            )
        for name, (least, most) in _RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must lie between {least:g} and {most:g}")
        for name in ("log_megabytes", "log_megabytes_per_instance"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.theme not in ("", *THEMES):
            raise ValueError(f"theme must be one of {', '.join(THEMES)}, not {self.theme!r}")
        if self.blast_radius_instances < 0 or not 0 <= self.blast_radius_share <= 1:
            raise ValueError(
                "blast_radius_instances must not be negative, and blast_radius_share must lie"
                " between 0 and 1"
            )
        if self.acts_per_minute < 0:
            raise ValueError("acts_per_minute must not be negative (0: no bound)")
        if not self.ssh_user:
            raise ValueError("ssh_user must not be empty")
        parse_clock(self.clock)

    @property
    def role_here(self) -> Role:
        """What may be asked for from here; nothing when read-only."""
        return Role.VIEWER if self.read_only else self.role

    @property
    def store_path(self) -> Path:
        """The SQLite file that collector and consoles share."""
        return self.state_dir / "fleet.db"

    @property
    def collector_log_path(self) -> Path:
        """Where a collector that a console started writes its own log."""
        return self.state_dir / "collector.log"


def config_path(environment: Mapping[str, str]) -> Path:
    """Return the config file's place: `FLEETUI_CONFIG`, else the user's config folder."""
    named = environment.get("FLEETUI_CONFIG")
    return Path(named) if named else platformdirs.user_config_path("fleetui") / "config.toml"


def load(
    flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Build the settings from all four layers; a flag of `None` was not given.

    Raises:
        ConfigError: a file cannot be read, or a value or name is wrong.
    """
    environment = os.environ if environment is None else environment
    path = config_path(environment)
    layers: dict[str, Any] = {
        "state_dir": platformdirs.user_state_path("fleetui"),
        "profile_dir": path.parent / "profiles",
    }
    layers |= _file_layer(path, required="FLEETUI_CONFIG" in environment)
    layers |= _environment_layer(environment)
    layers |= {name: value for name, value in (flags or {}).items() if value is not None}
    if layers.get("role") == Role.VIEWER:
        layers["read_only"] = True
    try:
        return msgspec.convert(layers, Settings, strict=False, dec_hook=_to_path)
    except (msgspec.ValidationError, ValueError) as error:
        # A name that is not known may be a secret in the wrong place.
        raise ConfigError(f"settings: {redact(str(error))}") from error


def _file_layer(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{path}: no such file (named by FLEETUI_CONFIG)") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    known = [field.name for field in msgspec.structs.fields(Settings)]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
            raise ConfigError(f"{path}: unknown setting {name!r}{hint}")
    for name in ("state_dir", "profile_dir"):
        if isinstance(values.get(name), str):
            values[name] = (path.parent / Path(values[name]).expanduser()).resolve()
    return values


def _environment_layer(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, name in ENVIRONMENT.items():
        text = environment.get(variable)
        if not text:
            continue
        values[name] = text.split(os.pathsep) if name == "ssh_keys" else text
    return values


def _to_path(kind: type[Any], value: object) -> object:
    if kind is Path and isinstance(value, str | Path):
        return Path(value).expanduser()
    raise ValueError(f"expected a path, not {value!r}")
