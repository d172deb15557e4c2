import type { ScheduleSummary } from '../api/types'
import { instantText } from '../lib/format'
import { QuickLink } from './QuickLink'
import { useZoneChoice, displayZone } from '../lib/timezones'
import classes from './outcomes.module.css'

export type OutcomeKind = 'success' | 'failed' | 'running' | 'waiting' | 'skipped' | 'missed' | 'ended' | 'coming'

const KIND_BY_STATE: Record<string, OutcomeKind> = {
  SUCCESS: 'success',
  FAILED: 'failed',
  TIMED_OUT: 'failed',
  STARTED: 'running',
  ENQUEUED: 'running',
  PLANNED: 'waiting',
  BUFFERED: 'waiting',
  SKIPPED: 'skipped',
  CANCELLED: 'ended',
  TERMINATED: 'ended',
}

export const outcomeKind = (state: string): OutcomeKind => KIND_BY_STATE[state] ?? 'ended'

const STATE_LABELS: Record<string, string> = {
  SUCCESS: 'Succeeded',
  FAILED: 'Failed',
  TIMED_OUT: 'Timed out',
  STARTED: 'Running',
  ENQUEUED: 'Enqueued',
  PLANNED: 'Planned',
  BUFFERED: 'Waiting',
  SKIPPED: 'Skipped',
  CANCELLED: 'Cancelled',
  TERMINATED: 'Terminated',
}

/** Every state of a run. */
export const RUN_STATES = Object.keys(STATE_LABELS)

export const stateLabel = (state: string): string => STATE_LABELS[state] ?? state

const REASON_LABELS: Record<string, string> = {
  overlap: 'the run before it was still going on',
  buffer_full: 'too many runs were waiting already',
  superseded: 'a later tick took its place',
  min_interval: 'the run before it was too recent',
  limit_reached: 'no actions remained',
  skip_requested: 'somebody asked to skip it',
  shadow: 'this is a shadow schedule: it records, and starts nothing',
  deleted: 'the schedule was deleted',
  target_paused: 'its workflow or queue is paused',
  retry: 'it will be tried again',
  launch_failed: 'it could not be launched',
  worker_lost: 'its worker was lost',
  zombie: 'nothing was heard of it for too long',
  cancel_requested: 'somebody asked it to end',
  catch_up: 'it was late, and caught up',
  missed: 'nobody could decide it in time',
  coalesced: 'one run stood for several missed ticks',
  outside_window: 'it was older than the catch-up window',
  resumed: 'it fell into a pause',
  edited: 'the schedule was changed',
}

export const reasonText = (reason: string | null | undefined): string => (reason ? (REASON_LABELS[reason] ?? reason) : '')

const DST_LABELS: Record<string, string> = {
  gap: 'moved: its wall time did not exist that day',
  overlap: 'its wall time happened twice that day',
}

export const dstText = (adjustment: string | null | undefined): string => (adjustment ? (DST_LABELS[adjustment] ?? `moved by DST: ${adjustment}`) : '')

/** A state in its colour, and in words: never the colour alone. */
export function RunStateLabel({ state, reason }: { state: string; reason?: string | null }) {
  return (
    <span className={classes.state} title={reasonText(reason) || undefined}>
      <i className={classes.dot} data-kind={outcomeKind(state)} />
      {stateLabel(state)}
    </span>
  )
}

/** The newest outcomes of a schedule, the newest on the right. */
export function Sparkline({ summary, zone }: { summary: ScheduleSummary | undefined; zone: string }) {
  const choice = useZoneChoice()
  if (!summary) return <span className={classes.line} />
  if (summary.outcomes.length === 0) return <span className="dim">no runs yet</span>
  const maxDuration = Math.max(...summary.outcomes.map(runDuration), 1)
  return (
    <ul className={classes.line} aria-label="Newest outcomes, oldest first">
      {[...summary.outcomes].reverse().map((run) => {
        const name = `${stateLabel(run.state)} · ${instantText(run.scheduled_for, displayZone(choice, zone))}`
        const reason = reasonText(run.reason)
        return (
          <li key={run.run_id}>
            <QuickLink to="/runs/$runId" params={{ runId: run.run_id }} className={classes.slot} tabIndex={-1} aria-label={name} title={reason ? `${name}: ${reason}` : name}>
              <i data-kind={outcomeKind(run.state)} style={{ height: `${35 + 65 * Math.sqrt(runDuration(run) / maxDuration)}%` }} />
            </QuickLink>
          </li>
        )
      })}
    </ul>
  )
}

function runDuration(run: ScheduleSummary['outcomes'][number]): number {
  return run.started_at && run.finished_at ? Math.max(0, Date.parse(run.finished_at) - Date.parse(run.started_at)) : 0
}
