"""The flows by their names.

Owns: finding them. Must not know: what any of them does. A flow is a module of ``flows`` with a constant ``FLOW``.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from reknit.pipeline import flows
from reknit.pipeline.flow import BadFlow, Flow

__all__ = ["all_flows", "find_flow"]


@functools.cache
def all_flows() -> dict[str, Flow]:
    """By name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(flows.__path__) if not module.name.startswith("_"))
    found: list[Flow] = [importlib.import_module(f"{flows.__name__}.{name}").FLOW for name in names]
    return {flow.name: flow for flow in found}


def find_flow(name: str) -> Flow:
    """``BadFlow`` names the others if there is none of this name."""
    if name not in all_flows():
        raise BadFlow(f"there is no flow {name}; there are: {', '.join(all_flows())}")
    return all_flows()[name]
