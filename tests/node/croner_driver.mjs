// Answers questions about cron patterns with croner, for tests/conformance/peers.
//
// Reads one JSON document from standard input and writes one to standard output:
//   { "jobs": [{ "pattern": "0 2 * * *", "zone": "Europe/Berlin", "after": [1, 2], "before": [3] }, …],
//     "offsets": [{ "zone": "Europe/Berlin", "instants": [1, 2] }, …] }
//   { "versions": { "croner": "11.0.0", "tz": "2026b" },
//     "answers": [{ "after": [5, null], "before": [0] } or { "error": "…" }, …],
//     "offsets": [[3600, 7200], …] }
// An instant is a whole number of seconds since the Unix epoch; null means that there is none.

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

// How far ahead of UTC the clocks of a zone are, by the zone data that Node carries and croner therefore uses.
function offsets({ zone, instants }) {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
    hour: "numeric", minute: "numeric", second: "numeric",
  });
  return instants.map((instant) => {
    const shown = {};
    for (const { type, value } of format.formatToParts(new Date(instant * 1000))) shown[type] = Number(value);
    const wall = Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second);
    return wall / 1000 - instant;
  });
}

const asked = JSON.parse(readFileSync(0, "utf8"));
const croner = JSON.parse(readFileSync(new URL("node_modules/croner/package.json", import.meta.url), "utf8"));
process.stdout.write(JSON.stringify({
  versions: { croner: croner.version, tz: process.versions.tz },
  answers: (asked.jobs ?? []).map(answer),
  offsets: (asked.offsets ?? []).map(offsets),
}));
