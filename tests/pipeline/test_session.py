"""Where Spark runs, and that it runs everywhere: here, on a cluster by spark-submit, at a server of Spark Connect."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import reknit
from reknit.pipeline.report import Report
from reknit.pipeline.session import Place, _builder, overruled, place_of, prepare, settings
from tests.pipeline.places import QUICK
from tests.pipeline.tables import write_checkins

SOURCE = Path(reknit.__file__).parent
LIMIT_S = 170


@pytest.mark.parametrize(
    ("place", "environ", "where"),
    [
        (Place(), {}, "here"),
        (Place(master="local[2]"), {}, "here"),
        (Place(remote="sc://host"), {}, "remote"),
        (Place(), {"SPARK_REMOTE": "sc://host"}, "remote"),
        (Place(master="local[2]"), {"SPARK_REMOTE": "sc://host"}, "here"),
        (Place(), {"PYSPARK_GATEWAY_PORT": "4711"}, "submitted"),
    ],
)
def test_it_runs_where_it_is_told_to(place: Place, environ: dict[str, str], where: str) -> None:
    assert place_of(place, environ) == where


def test_two_places_are_refused() -> None:
    with pytest.raises(ValueError, match="--master or --remote, not both"):
        place_of(Place(master="local", remote="sc://host"), {})


def test_what_is_told_hides_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark refuses a master where SPARK_REMOTE is set, and a server where MASTER is."""
    both = {"SPARK_REMOTE": "sc://host", "MASTER": "local", "x": "y"}
    environ = dict(both)
    with overruled("here", environ):
        assert environ == {"MASTER": "local", "x": "y"}
    with overruled("remote", environ):
        assert environ == {"SPARK_REMOTE": "sc://host", "x": "y"}
    assert environ == both
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    place = Place(master="local[1]")
    with overruled(place_of(place, os.environ), os.environ):
        _builder(place, "here")  # which is where Spark would refuse it


def test_what_decides_results_is_set_everywhere_and_the_rest_only_here() -> None:
    everywhere = settings(Place(), "remote")
    assert everywhere["spark.sql.session.timeZone"] == "UTC"
    assert everywhere == settings(Place(), "submitted")
    here = settings(Place(memory="3g", further=(("spark.x", "y"),)), "here")
    assert here["spark.driver.memory"] == "3g"
    assert here["spark.driver.bindAddress"] == "127.0.0.1"
    assert here["spark.x"] == "y"
    assert not [key for key in everywhere if here[key] != everywhere[key]]
    cluster = settings(Place(master="spark://host:7077"), "here")  # whose workers have to find this process
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.sql.shuffle.partitions"} & set(cluster)
    own = settings(Place(remote="local[2]"), "remote")
    assert own["spark.sql.shuffle.partitions"] == here["spark.sql.shuffle.partitions"]


def test_java_is_not_told_two_collectors() -> None:
    """It would not start."""
    key = "spark.driver.extraJavaOptions"
    assert settings(Place(), "here")[key].endswith(" -XX:+UseParallelGC")
    assert "GC" not in settings(Place(), "here", {"JDK_JAVA_OPTIONS": "-Xss4m -XX:+UseSerialGC"})[key]
    told = settings(Place(java_options="-XX:+UseZGC"), "here", {"JAVA_TOOL_OPTIONS": "-XX:+UseZGC"})
    assert told[key].endswith(" -XX:+UseZGC")


def test_workers_use_this_interpreter_unless_another_is_named() -> None:
    environ: dict[str, str] = {}
    prepare(Place(remote="sc://host"), "remote", environ)
    assert environ == {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    environ = {"PYSPARK_PYTHON": "python3"}
    prepare(Place(), "submitted", environ)
    assert environ["PYSPARK_PYTHON"] == "python3"


def test_a_session_has_utc_and_workers_of_this_interpreter(spark: SparkSession) -> None:
    row = spark.range(1).select(F.timestamp_seconds(F.lit(0)).cast("string").alias("at")).collect()[0]
    assert row["at"] == "1970-01-01 00:00:00"
    found = spark.range(1).mapInPandas(_interpreter, "path string").collect()
    assert found[0]["path"] == sys.executable


def _interpreter(batches):  # type: ignore[no-untyped-def]
    import sys

    import pandas as pd

    for batch in batches:
        yield pd.DataFrame({"path": [sys.executable] * len(batch)})


# --- the same flow elsewhere


def run(words: list[str], environ: dict[str, str], out: Path) -> Report:
    ran = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    report = msgspec.json.decode((out / "report.json").read_bytes(), type=Report)
    assert [(each.name, each.rows) for each in report.steps] == [("visits", 3), ("pairs", 3)]
    return report


def flow_words(tmp_path: Path) -> list[str]:
    checkins = write_checkins(tmp_path / "checkins.parquet")
    words = ["pipeline", "run", "visits", "--only", "pairs", "--input", f"checkins={checkins}"]
    return [*words, "--out", str(tmp_path / "out")]


@pytest.mark.long
def test_spark_submit_on_a_small_cluster(tmp_path: Path) -> None:
    """Executors are processes of their own here, and get the package as a file."""
    package = tmp_path / "reknit.zip"
    with zipfile.ZipFile(package, "w") as archive:
        for path in sorted(SOURCE.rglob("*")):
            if path.suffix in (".py", ".lark", ".properties"):
                archive.write(path, path.relative_to(SOURCE.parent))
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    assert submit is not None
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.extraJavaOptions": QUICK,
    }
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    words = [
        submit,
        "--master",
        "local-cluster[2,1,1024]",
        "--driver-memory",
        "1g",
        "--driver-java-options",
        QUICK,
        *conf,
    ]
    words += [*conf, "--py-files", str(package), str(SOURCE / "__main__.py"), *flow_words(tmp_path)]
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run(words, environ | {"PYSPARK_PYTHON": sys.executable}, tmp_path / "out")


@pytest.mark.long
def test_a_small_cluster_as_master(tmp_path: Path) -> None:
    """The same without ``spark-submit``: executors find the package where this process has found it."""
    words = [sys.executable, "-m", "reknit", *flow_words(tmp_path), "--master", "local-cluster[2,1,1024]"]
    environ = os.environ | {"PYTHONPATH": str(SOURCE.parent), "JDK_JAVA_OPTIONS": QUICK}
    environ |= {"SPARK_REMOTE": "sc://nobody.invalid"}  # the master that is named counts
    run(words, environ, tmp_path / "out")


@pytest.mark.long
@pytest.mark.parametrize("place", [("--remote", "local[2]"), ("--master", "local[2]")])
def test_on_the_packaged_java(tmp_path: Path, place: tuple[str, str]) -> None:
    """No Java on the path: Spark, and a server of Spark Connect, are started on the one that came with the packages."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for path in sorted(Path("/usr/bin").iterdir()):
        if "java" not in path.name:
            (tools / path.name).symlink_to(path)
    environ = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "PATH")}
    environ |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache"), "JDK_JAVA_OPTIONS": QUICK}
    run([sys.executable, "-m", "reknit", *flow_words(tmp_path), *place], environ, tmp_path / "out")
    assert (tmp_path / "cache" / "reknit" / "java" / "bin" / "java").exists()
