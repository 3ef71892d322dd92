"""How tests are shared out among the workers of ``make test``: by file, and all that needs Spark to one of them."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SPARK = "tests/pipeline/"
"""The tests under it share one session of Spark's, which takes longer to start than most of them run."""


class Scheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return SPARK if nodeid.startswith(SPARK) else str(super()._split_scope(nodeid))


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
