"""How a host key is shown to people."""

import base64
import hashlib


def fingerprint(key: str) -> str:
    """Return the SHA256 fingerprint of a public key text, as `ssh-keygen -l` shows it."""
    try:
        blob = base64.b64decode(key.split()[1], validate=True)
    except (IndexError, ValueError):
        return "unreadable key"
    digest = hashlib.sha256(blob).digest()
    return f"SHA256:{base64.b64encode(digest).decode('ascii').rstrip('=')}"
