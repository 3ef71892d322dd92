"""Paths in a configuration: from which directory each of them counts.

What stands in a file counts from the directory of that file, so that a broker finds the same files wherever it is
started; what a flag or the environment says counts from the working directory, as whoever types it expects. Once a
configuration is read, every path in it is a full one, and so is every path in what is said of it.

Owns: which keys are paths. Must not know: what is in the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["PATHS", "root_paths"]

PATHS: Mapping[str, tuple[str, ...]] = {
    "access": ("passwords", "rules", "operator_token"),
    "tls": ("certificate", "key", "client_authorities", "link_authorities"),
    "trace": ("directory",),
    "store": ("path",),
    "broker": ("state",),
    "communities": ("secret_file",),
}
"""By section."""


def root_paths(document: dict[str, Any], directory: Path) -> None:
    """Let the paths in a document that are not full ones count from ``directory``, which is one."""
    for name, keys in PATHS.items():
        section = document.get(name)
        if not isinstance(section, dict):  # another kind of file, or a fault, which is told when the whole is read
            continue
        for key in keys:
            if isinstance(text := section.get(key), str) and text:
                section[key] = str(directory / text)
