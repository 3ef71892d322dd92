"""Errors of the command line itself: one line, and an exit code."""

from __future__ import annotations

__all__ = ["BadInput", "Failed"]


class BadInput(Exception):
    """The user's fault."""

    exit_code = 2


class Failed(Exception):
    """The command was right, and could not be done."""

    exit_code = 1
