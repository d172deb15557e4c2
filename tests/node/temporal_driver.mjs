// Manages a schedule with Temporal's TypeScript SDK, for tests/conformance/temporal.
//
//   node temporal_driver.mjs <address of Tompion> <address of the cluster>
//
// It creates, describes, lists, pauses, unpauses, triggers, backfills, updates and deletes a schedule with the Temporal
// API of Tompion. The workflows of the schedule run on the cluster, in a worker of this process. The result of each step
// is written to standard output as one JSON document.

import { fileURLToPath } from "node:url";
import { Client, Connection, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from "@temporalio/client";
import { NativeConnection, Runtime, DefaultLogger, Worker } from "@temporalio/worker";

const QUEUE = "typescript";
const [tompion, cluster] = process.argv.slice(2);
const hours = (count) => new Date(Date.UTC(2026, 0, 5, count));

Runtime.install({ logger: new DefaultLogger("ERROR") });

const startWorkflow = (argument) => ({
  type: "startWorkflow",
  workflowType: "greet",
  workflowId: "from-typescript",
  taskQueue: QUEUE,
  args: [argument],
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

// Waits until a schedule has started this number of workflows. Returns their results, the oldest first.
async function results(handle, clusterClient, count) {
  for (;;) {
    const { recentActions, numActionsTaken } = (await handle.describe()).info;
    const started = recentActions.map((recent) => recent.action.workflow);
    if (numActionsTaken === count && started.every((workflow) => workflow.firstExecutionRunId)) {
      return Promise.all(
        started.map(async ({ workflowId, firstExecutionRunId }) => ({
          workflowId,
          result: await clusterClient.workflow.getHandle(workflowId, firstExecutionRunId).result(),
        })),
      );
    }
  }
}

async function manageSchedule(client, clusterClient) {
  const options = {
    scheduleId: "typescript",
    spec: { cronExpressions: ["0 * * * *"], timezone: "Europe/Berlin", jitter: "1m" },
    action: startWorkflow("first"),
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: "1 day", pauseOnFailure: true },
    state: { paused: true, note: "created" },
    memo: { why: "tests", list: [1, 2] },
    searchAttributes: { Team: ["billing"] },
  };
  const handle = await client.schedule.create(options);
  const steps = { again: await failsWith(ScheduleAlreadyRunning, () => client.schedule.create(options)) };
  const { spec, action, policies, state, memo, searchAttributes, info } = await handle.describe();
  steps.described = {
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
  steps.listed = [];
  for await (const summary of client.schedule.list({ query: "Team = 'billing'" })) steps.listed.push(summary.scheduleId);
  await handle.unpause("let it go");
  steps.unpaused = (await handle.describe()).state;
  await handle.pause("hold it");
  steps.paused = (await handle.describe()).state;
  await handle.trigger();
  steps.triggered = await results(handle, clusterClient, 1);
  await handle.backfill({ start: hours(0), end: hours(2), overlap: ScheduleOverlapPolicy.ALLOW_ALL });
  steps.backfilled = await results(handle, clusterClient, 4);
  await handle.update((previous) => ({
    ...previous,
    spec: { intervals: [{ every: "2h", offset: "30m" }] },
    action: startWorkflow("second"),
    policies: { ...previous.policies, overlap: ScheduleOverlapPolicy.BUFFER_ALL },
  }));
  const updated = await handle.describe();
  steps.updated = { intervals: updated.spec.intervals, calendars: updated.spec.calendars, overlap: updated.policies.overlap };
  await handle.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  steps.triggered_again = (await results(handle, clusterClient, 5)).at(-1).result;
  await handle.delete();
  steps.deleted = await failsWith(ScheduleNotFoundError, () => handle.describe());
  return steps;
}

const connection = await NativeConnection.connect({ address: cluster });
const workflowsPath = fileURLToPath(new URL("./temporal_workflows.mjs", import.meta.url));
const worker = await Worker.create({ connection, taskQueue: QUEUE, workflowsPath });
const [clusterConnection, tompionConnection] = await Promise.all([cluster, tompion].map((address) => Connection.connect({ address })));
const steps = await worker.runUntil(
  manageSchedule(new Client({ connection: tompionConnection }), new Client({ connection: clusterConnection })),
);
process.stdout.write(JSON.stringify(steps));
await Promise.all([clusterConnection.close(), tompionConnection.close(), connection.close()]);
