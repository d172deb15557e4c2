// The workflows that temporal_driver.mjs has a worker of its own for.

import { workflowInfo } from "@temporalio/workflow";

// Says what it was given, what the run before it has left, and by whom it was scheduled.
export async function greet(given) {
  const { lastResult, lastFailure, searchAttributes } = workflowInfo();
  return { given, left: lastResult?.given ?? null, failed: Boolean(lastFailure), by: searchAttributes.TemporalScheduledById };
}
