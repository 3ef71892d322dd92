"""What can be wrong before a broker or a network runs, and whose fault it is.

Owns: the errors that end a command with one clear line. Must not know: how a line is printed, or which exit code it
gets beyond the one that is written here. Light to import, since the command line does so on every start.
"""

from __future__ import annotations

__all__ = ["ConfigError", "LiveError", "NetworkRunning", "PortTaken", "StartFailed"]


class LiveError(Exception):
    """One line for the person who started the command. ``exit_code`` is 2 for bad input, 1 for a failure."""

    exit_code = 1


class ConfigError(LiveError):
    """A file, a flag or a key says something that cannot be."""

    exit_code = 2


class PortTaken(LiveError):
    """An address that was asked for cannot be listened on."""

    exit_code = 2


class NetworkRunning(LiveError):
    """This directory already holds a running network."""

    exit_code = 2


class StartFailed(LiveError):
    """A broker did not become ready."""
