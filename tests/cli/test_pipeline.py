"""The verb: flows are listed and shown without a session; what is wrong is one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from reknit.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", *words])
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.out, printed.err


def test_the_flows_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list")
    assert (code, "visits" in out) == (0, True)
    code, out, _ = run(capsys, "list", "--json")
    assert "visits" in [each["name"] for each in json.loads(out)]


def test_a_sweep_is_named_with_the_verb_that_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "list")
    assert re.search(r"^sweep +the lab's experiments.*: reknit lab run ID\.\.\. --spark$", out, re.MULTILINE)
    _, out, _ = run(capsys, "list", "--json")
    assert json.loads(out)[-1]["verb"] == "reknit lab run ID... --spark"
    _, out, _ = run(capsys, "show", "sweep")
    assert "  run  reknit lab run ID... --spark\n" in out
    code, _, err = run(capsys, "run", "sweep")
    assert (code, err) == (2, "reknit: pipeline: sweep is run by reknit lab run ID... --spark\n")


def test_a_flow_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "visits")
    assert code == 0
    assert (
        "  in   checkins: who was where, when\n         user_id bigint, ts timestamp, lat double, lon double\n" in out
    )
    assert "  set  grid=us20x60  a grid by its name" in out
    assert "  set  from=  the first moment" in out
    assert "         made of checkins\n         rows: the rows of checkins that it stands for\n" in out
    assert "         visits: the closed visits of visits that it stands for\n" in out
    _, out, _ = run(capsys, "show", "plan")
    assert "         records: the publications and deliveries of trace that it stands for; what it leaves out is" in out
    assert "         made of flows, links\n" in out
    _, out, _ = run(capsys, "show", "plan", "--json")
    flows, _, _, gains = json.loads(out)["steps"]
    assert (flows["needs"], flows["carries"], flows["takes"]) == (["trace"], "records", "publications and deliveries")
    assert (gains["needs"], gains["carries"], gains["takes"]) == (["flows", "links"], "", "")
    _, out, _ = run(capsys, "show", "visits", "--json")
    assert json.loads(out)["parameters"][0]["name"] == "grid"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "visit"), "there is no flow visit; there are:"),
        (("run", "visits", "--set", "grid"), "--set grid: write it as NAME=VALUE"),
        (("run", "visits", "--set", "x=1"), "visits has no parameter x; it has: grid, from, to"),
        (("run", "visits", "--input", "a=1", "--input", "a=2"), "--input a is given twice"),
        (("run", "visits", "--master", "local", "--remote", "sc://x"), "give --master or --remote, not both"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    code, _, err = run(capsys, *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_the_java_that_spark_would_run_on_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "java")
    assert code == 0
    assert (Path(out.strip()) / "bin" / "java").exists()
    _, told, _ = run(capsys, "java", "--json")
    assert json.loads(told)["java_home"] == out.strip()


def test_what_spark_says_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any verb that is on Spark; other errors are bugs of ours, and show where."""
    from pyspark.errors import PySparkRuntimeError, PySparkValueError

    for kind in (PySparkRuntimeError, PySparkValueError):
        error = kind("broken\n\nJVM stacktrace:\n\tat x.y\nCaused by: java.io.IOException: no space left\n\tat z")
        monkeypatch.setattr("reknit.pipeline.run.run_flow", Mock(side_effect=error))
        monkeypatch.setattr("reknit.pipeline.session.session", nullcontext)
        code, out, err = run(capsys, "run", "synthesize")
        assert (code, out) == (1, "")
        said = "Spark has failed: broken; because of java.io.IOException: no space left"
        assert err == f"reknit: pipeline: {said}\n"
    monkeypatch.setattr("reknit.pipeline.run.run_flow", Mock(side_effect=KeyError("x")))
    with pytest.raises(KeyError):
        main(["pipeline", "run", "synthesize"])


def test_the_other_verbs_never_import_spark() -> None:
    script = """
import sys
from reknit.cli import build_app
build_app()
import reknit.live.process, reknit.sim.schedule, reknit.lab.run, reknit.client.connection
heavy = sorted({name.partition(".")[0] for name in sys.modules} & {"pyspark", "pandas", "py4j", "grpc"})
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_without_the_extra_one_line_says_so() -> None:
    script = """
import sys
sys.modules["pyspark"] = None
from reknit.cli import main
main(["pipeline", "list"])
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert ran.stderr == (
        "reknit: pipeline: pyspark is not installed; install reknit with its extra: pip install 'reknit[spark]'\n"
    )
