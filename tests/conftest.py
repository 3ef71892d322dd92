"""How tests are shared out among the workers of ``make test``, and what they start out with.

By file, and all that needs Spark to one worker. What takes longest begins first, so that all workers end together; by
themselves they would begin with the files that hold most tests, and those take a moment.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SPARK = "tests/pipeline/"
"""The tests under it share one session of Spark's, which takes longer to start than most of them run."""

FIRST = (
    SPARK,
    "tests/sim/test_planted.py",
    "tests/cli/test_demo.py",
    "tests/interop/test_clients.py",
    "tests/live/test_network.py",
    "tests/cli/test_drain.py",
    "tests/cli/test_change.py",
    "tests/sim/test_replacements.py",
    "tests/core/overlay/test_swaplink.py",
    "tests/docs/test_readme.py",
    "tests/live/test_durable.py",
    "tests/trace/test_writer.py",
    "tests/core/overlay/test_triangle.py",
    "tests/cli/test_letters.py",
    "tests/cli/test_letters_secure.py",
    "tests/docs/test_operators_page.py",
    "tests/cli/test_swap.py",
    "tests/cli/test_up.py",
    "tests/cli/test_broker.py",
    "tests/planning/test_search.py",
    "tests/trace/test_store.py",
    "tests/live/test_repair.py",
    "tests/live/test_process.py",
    "tests/live/test_datagrams.py",
    "tests/live/test_shared.py",
    "tests/lab/experiments/test_path_fig5_dense.py",
    "tests/docs/test_from_mosquitto_page.py",
)
"""Ten seconds and more, the longest first; a file that is missing here costs nothing but a worker that waits."""


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has begun this in its background, where interrupts are ignored, by all that is begun from here, too. Some
    # tests end programs by one.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Scheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return SPARK if nodeid.startswith(SPARK) else str(super()._split_scope(nodeid))

    def _assign_work_unit(self, node: Any) -> None:
        longest = next((scope for scope in FIRST if scope in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
