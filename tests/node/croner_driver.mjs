// Computes the ticks of cron patterns with croner, for tests/conformance/peers.
//
// Reads one JSON document from standard input and writes one to standard output:
//   { "jobs": [{ "pattern": "0 2 * * *", "zone": "Europe/Berlin", "after": [1, 2], "before": [3] }, …],
//     "offsets": [{ "zone": "Europe/Berlin", "instants": [1, 2] }, …] }
//   { "versions": { "croner": "11.0.0", "tz": "2026b" },
//     "answers": [{ "after": [5, null], "before": [0] } or { "error": "…" }, …],
//     "offsets": [[3600, 7200], …] }
// An instant is a whole number of seconds since the Unix epoch. null means that there is no tick.

import { readFileSync } from "node:fs";
import { Cron } from "croner";

const seconds = (date) => (date ? Math.round(date.getTime() / 1000) : null);

function answer({ pattern, zone, after, before }) {
  let cron;
  try {
    cron = new Cron(pattern, { timezone: zone, paused: true, sloppyRanges: true });
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
  return {
    after: after.map((instant) => seconds(cron.nextRun(new Date(instant * 1000)))),
    before: before.map((instant) => seconds(cron.previousRuns(1, new Date(instant * 1000))[0])),
  };
}

// Returns the offsets of a zone from UTC, in seconds, from the zone data of Node, which croner uses.
function offsets({ zone, instants }) {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
    hour: "numeric", minute: "numeric", second: "numeric",
  });
  return instants.map((instant) => {
    const parts = {};
    for (const { type, value } of format.formatToParts(new Date(instant * 1000))) parts[type] = Number(value);
    const wall = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
    return wall / 1000 - instant;
  });
}

const request = JSON.parse(readFileSync(0, "utf8"));
const croner = JSON.parse(readFileSync(new URL("node_modules/croner/package.json", import.meta.url), "utf8"));
process.stdout.write(JSON.stringify({
  versions: { croner: croner.version, tz: process.versions.tz },
  answers: (request.jobs ?? []).map(answer),
  offsets: (request.offsets ?? []).map(offsets),
}));
