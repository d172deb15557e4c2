// The workflows of the worker in temporal_driver.mjs.

import { workflowInfo } from "@temporalio/workflow";

// Returns its argument, the result of the previous run, whether that run failed, and the id of its schedule.
export async function greet(argument) {
  const { lastResult, lastFailure, searchAttributes } = workflowInfo();
  return { argument, previous: lastResult?.argument ?? null, failed: Boolean(lastFailure), by: searchAttributes.TemporalScheduledById };
}
