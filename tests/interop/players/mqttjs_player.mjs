// npm's mqtt over WebSocket, played by lines of JSON: one command a line in, one happening a line out.
import { createInterface } from "node:readline";
import mqtt from "mqtt";

const LASTING_S = 3600;
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");
let client;
let stores; // a session has two ends: half of an exchange at QoS 2 is known to the client alone

const connect = ({ port, identifier, clean, version, will }) => {
  if (clean || !stores) stores = { in: new mqtt.Store({ clean: false }), out: new mqtt.Store({ clean: false }) };
  client = mqtt.connect(`ws://127.0.0.1:${port}/mqtt`, {
    clientId: identifier,
    clean,
    protocolVersion: version === 5 ? 5 : 4,
    properties: version === 5 && !clean ? { sessionExpiryInterval: LASTING_S } : undefined,
    will: will ?? undefined,
    incomingStore: stores.in,
    outgoingStore: stores.out,
    reconnectPeriod: 0,
  });
  client.on("connect", () => say({ event: "connected" }));
  client.on("close", () => say({ event: "disconnected" }));
  client.on("error", (error) => say({ event: "error", what: String(error) }));
  client.on("message", (topic, payload, packet) =>
    say({ event: "message", topic, payload: payload.toString(), qos: packet.qos, retain: packet.retain }));
};

const deeds = {
  connect,
  subscribe: ({ topic, qos }) => client.subscribe(topic, { qos }, () => say({ event: "subscribed" })),
  publish: ({ topic, payload, qos, retain }) =>
    client.publish(topic, payload, { qos, retain }, () => say({ event: "published" })),
  disconnect: () => client.end(),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { do: deed, ...rest } = JSON.parse(line);
  deeds[deed](rest);
});
