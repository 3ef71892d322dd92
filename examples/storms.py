"""Subscribe by content: of all weather in all cities, only the storms that matter.

Start a network first (`reknit up`), then: python examples/storms.py [PORT]
"""

import asyncio
import sys

import reknit

REPORTS = [
    ("city/oslo/weather", "drizzle", 4.0),
    ("city/lima/weather", "storm warning", 27.5),
    ("city/oslo/weather", "storm", 31.0),
    ("city/accra/weather", "stormy seas", 12.0),
]


async def main(port: int) -> None:
    async with (
        reknit.connect("127.0.0.1", port) as station,
        reknit.connect("127.0.0.1", port) as desk,
        desk.subscribe("city/+/weather", where="text LIKE 'storm%' AND wind >= 20") as storms,
    ):
        for topic, text, wind in REPORTS:
            await station.publish(topic, b"", text=text, wind=wind, qos=1)
        for _ in range(2):
            event = await anext(storms)
            print(event.topic, event.attributes["text"], event.attributes["wind"])


asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1883))
