// Manages a schedule with Temporal's TypeScript SDK, for tests/conformance/temporal.
//
//   node temporal_driver.mjs <address of the door> <address of the cluster>
//
// The schedule is created, described, listed, paused, unpaused, triggered, backfilled, updated and deleted at the door;
// its workflows run on the cluster, in a worker of this process. One JSON document on standard output says what came of
// each step.

import { fileURLToPath } from "node:url";
import { Client, Connection, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from "@temporalio/client";
import { NativeConnection, Runtime, DefaultLogger, Worker } from "@temporalio/worker";

const QUEUE = "typescript";
const [door, cluster] = process.argv.slice(2);
const hours = (count) => new Date(Date.UTC(2026, 0, 5, count));

Runtime.install({ logger: new DefaultLogger("ERROR") });

const startWorkflow = (given) => ({
  type: "startWorkflow",
  workflowType: "greet",
  workflowId: "from-typescript",
  taskQueue: QUEUE,
  args: [given],
  memo: { kept: true },
});

async function failsWith(kind, call) {
  try {
    await call();
    return "done";
  } catch (error) {
    return error instanceof kind ? kind.name : String(error);
  }
}

// Waits until so many workflows of a schedule have been started; gives what each has returned, the oldest first.
async function results(handle, behind, count) {
  for (;;) {
    const { recentActions, numActionsTaken } = (await handle.describe()).info;
    const started = recentActions.map((each) => each.action.workflow);
    if (numActionsTaken === count && started.every((each) => each.firstExecutionRunId)) {
      return Promise.all(
        started.map(async (each) => ({
          workflowId: each.workflowId,
          result: await behind.workflow.getHandle(each.workflowId, each.firstExecutionRunId).result(),
        })),
      );
    }
  }
}

async function managed(client, behind) {
  const options = {
    scheduleId: "typescript",
    spec: { cronExpressions: ["0 * * * *"], timezone: "Europe/Berlin", jitter: "1m" },
    action: startWorkflow("first"),
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: "1 day", pauseOnFailure: true },
    state: { paused: true, note: "made" },
    memo: { why: "tests", list: [1, 2] },
    searchAttributes: { Team: ["billing"] },
  };
  const handle = await client.schedule.create(options);
  const said = { again: await failsWith(ScheduleAlreadyRunning, () => client.schedule.create(options)) };
  const { spec, action, policies, state, memo, searchAttributes, info } = await handle.describe();
  said.described = {
    hours: spec.calendars[0].hour,
    timezone: spec.timezone,
    jitter: spec.jitter,
    action: [action.workflowType, action.workflowId, action.taskQueue, action.args, action.memo],
    policies,
    state,
    memo,
    searchAttributes,
    next: info.nextActionTimes.length,
  };
  said.listed = [];
  for await (const each of client.schedule.list({ query: "Team = 'billing'" })) said.listed.push(each.scheduleId);
  await handle.unpause("let it go");
  said.unpaused = (await handle.describe()).state;
  await handle.pause("hold it");
  said.paused = (await handle.describe()).state;
  await handle.trigger();
  said.triggered = await results(handle, behind, 1);
  await handle.backfill({ start: hours(0), end: hours(2), overlap: ScheduleOverlapPolicy.ALLOW_ALL });
  said.backfilled = await results(handle, behind, 4);
  await handle.update((known) => ({
    ...known,
    spec: { intervals: [{ every: "2h", offset: "30m" }] },
    action: startWorkflow("second"),
    policies: { ...known.policies, overlap: ScheduleOverlapPolicy.BUFFER_ALL },
  }));
  const updated = await handle.describe();
  said.updated = { intervals: updated.spec.intervals, calendars: updated.spec.calendars, overlap: updated.policies.overlap };
  await handle.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  said.triggered_again = (await results(handle, behind, 5)).at(-1).result;
  await handle.delete();
  said.deleted = await failsWith(ScheduleNotFoundError, () => handle.describe());
  return said;
}

const connection = await NativeConnection.connect({ address: cluster });
const workflowsPath = fileURLToPath(new URL("./temporal_workflows.mjs", import.meta.url));
const worker = await Worker.create({ connection, taskQueue: QUEUE, workflowsPath });
const [there, here] = await Promise.all([cluster, door].map((address) => Connection.connect({ address })));
const said = await worker.runUntil(managed(new Client({ connection: here }), new Client({ connection: there })));
process.stdout.write(JSON.stringify(said));
await Promise.all([there.close(), here.close(), connection.close()]);
