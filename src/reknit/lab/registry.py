"""The experiments by their ids.

An experiment is a public module of ``reknit.lab.experiments`` with a constant ``EXPERIMENT``; a new file is a new
experiment, and there is no list to keep.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from reknit.lab import experiments
from reknit.lab.experiment import Experiment

__all__ = ["UnknownExperiment", "all_experiments", "find_experiments"]


class UnknownExperiment(Exception):
    """The user's fault: no experiment has this id."""

    exit_code = 2


@cache
def all_experiments() -> dict[str, Experiment]:
    """In the order of their ids."""
    names = [module.name for module in pkgutil.iter_modules(experiments.__path__) if not module.name.startswith("_")]
    found: list[Experiment] = [
        importlib.import_module(f"{experiments.__name__}.{name}").EXPERIMENT for name in sorted(names)
    ]
    return {each.id: each for each in sorted(found, key=lambda each: each.id)}


def find_experiments(ids: Sequence[str]) -> list[Experiment]:
    """Each once, in the order asked for."""
    known = all_experiments()
    if unknown := [each for each in ids if each not in known]:
        raise UnknownExperiment(f"no experiment is called {unknown[0]!r}; there are: {', '.join(known)}")
    return [known[each] for each in dict.fromkeys(ids)]
