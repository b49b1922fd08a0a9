"""Who may ask for what."""

from enum import StrEnum


class Role(StrEnum):
    """What somebody may ask for: nothing, all but what loses data for good, everything."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"

    def covers(self, needed: "Role") -> bool:
        """Tell whether this role may do what `needed` may."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


def lesser(one: Role, other: Role) -> Role:
    """Return the role that may do less."""
    return other if one.covers(other) else one


def role_of(actor: str, roles: dict[str, Role], otherwise: Role) -> Role:
    """Find an actor's role by the most exact name that `roles` has for it.

    An actor is `user@host`, and ` from ADDRESS` or ` key FINGERPRINT` behind it (`verbs.actor`).
    Names are, from the most exact: the whole, a key's fingerprint, `user@host`, `user`, `*`.
    """
    login = actor.split(" ", 1)[0]
    key = actor.partition(" key ")[2].split(" ", 1)[0]
    names = (actor, key, login, login.partition("@")[0], "*")
    return next((roles[name] for name in names if name in roles), otherwise)
