"""mosquitto_sub and mosquitto_pub, played by lines of JSON: one command a line in, one happening a line out.

A connection is a mosquitto_sub that runs; publishing is a mosquitto_pub of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

LASTING_S = "3600"
_lock = threading.Lock()


def say(**what: Any) -> None:
    with _lock:
        print(json.dumps(what), flush=True)


class Player:
    def __init__(self) -> None:
        self.options: list[str] = []
        self.session: list[str] = []
        self.sub: subprocess.Popen[str] | None = None

    def connect(self, port: int, identifier: str, clean: bool, version: int, will: dict[str, Any] | None) -> None:
        self.options = ["-h", "127.0.0.1", "-p", str(port), "-V", "mqttv5" if version == 5 else "mqttv311"]
        self.session = ["-i", identifier, *([] if clean else ["-c"])]
        if version == 5 and not clean:
            self.session += ["-x", LASTING_S]
        if will:
            self.session += ["--will-topic", will["topic"], "--will-payload", will["payload"]]
            self.session += ["--will-qos", str(will["qos"]), *(["--will-retain"] if will["retain"] else [])]
        say(event="connected")

    def subscribe(self, topic: str, qos: int) -> None:
        words = [
            "stdbuf",
            "-oL",
            "mosquitto_sub",
            *self.options,
            *self.session,
            "-t",
            topic,
            "-q",
            str(qos),
            "-d",
            "-F",
            "%j",
        ]
        self.sub = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, args=(self.sub,), daemon=True).start()

    def _listen(self, sub: subprocess.Popen[str]) -> None:
        assert sub.stdout is not None
        for line in sub.stdout:
            if line.startswith("Subscribed"):
                say(event="subscribed")
            elif line.startswith("{"):
                found = json.loads(line)
                kept = {name: found[name] for name in ("topic", "payload", "qos")}
                say(event="message", **kept, retain=bool(found["retain"]))
        say(event="disconnected")

    def publish(self, topic: str, payload: str, qos: int, retain: bool) -> None:
        words = ["mosquitto_pub", *self.options, "-t", topic, "-m", payload, "-q", str(qos)]
        subprocess.run([*words, *(["-r"] if retain else [])], check=True, timeout=30)
        say(event="published")

    def disconnect(self) -> None:
        assert self.sub is not None
        self.sub.terminate()
        self.sub.wait(10)

    def vanish(self) -> None:
        if self.sub is not None:
            self.sub.kill()


def main() -> None:
    player = Player()
    for line in sys.stdin:
        command = json.loads(line)
        getattr(player, command.pop("do"))(**command)
    player.vanish()


main()
