"""Errors of the command line itself: one line, and an exit code."""

from __future__ import annotations

__all__ = ["BadInput", "Failed", "GoesOn", "Interrupted", "Unanswered"]


class BadInput(Exception):
    """The user's fault."""

    exit_code = 2


class Failed(Exception):
    """The command was right, and could not be done."""

    exit_code = 1


class Unanswered(Failed):
    """Whether it is done nobody has said: what was asked for may have been heard."""


class GoesOn(Failed):
    """It is not done yet, and nobody has given it up."""


class Interrupted(Exception):
    """The user has ended the command, in the middle of something."""

    exit_code = 130
