"""Rows as the field has seen them at their worst (facts: vast_api.md section 7, rows 31-36)."""

from typing import Any

HOSTILE = "\x1b[31m👩‍🔬 [red]x[/red]\u202e مرحبا\ttab\nline2\x07\u200b "


def spoil(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with nulls, words, sentinels and hostile text where values were."""
    return row | {
        "label": HOSTILE,
        "status_msg": "Error:\r\n" + HOSTILE,
        "gpu_util": "NaN",
        "gpu_temp": None,
        "gpu_name": 4090,
        "num_gpus": "2",
        "cpu_cores_effective": 0,
        "disk_usage": -1,
        "inet_down": float("nan"),
        "start_date": None,
        "uptime_mins": "soon",
        "dph_total": None,
        "instance": None,
        "ports": {"22/tcp": None},
        "public_ipaddr": "127.0.0.1 \n",
        "geolocation": ", US",
        "extra_env": None,
    }
