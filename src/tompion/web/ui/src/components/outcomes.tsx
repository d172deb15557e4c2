import type { Glance } from '../api/types'
import { instantText } from '../lib/format'
import { QuickLink } from './QuickLink'
import { useZoneChoice, zoneFor } from '../lib/timezones'
import classes from './outcomes.module.css'

export type OutcomeKind = 'success' | 'failed' | 'running' | 'waiting' | 'skipped' | 'missed' | 'ended' | 'coming'

const KINDS: Record<string, OutcomeKind> = {
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

export const kindOf = (state: string): OutcomeKind => KINDS[state] ?? 'ended'

const NAMES: Record<string, string> = {
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
export const STATES = Object.keys(NAMES)

export const stateName = (state: string): string => NAMES[state] ?? state

const REASONS: Record<string, string> = {
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

export const reasonText = (reason: string | null | undefined): string => (reason ? (REASONS[reason] ?? reason) : '')

const MOVES: Record<string, string> = {
  gap: 'moved: its wall time did not exist that day',
  overlap: 'its wall time happened twice that day',
}

export const movedText = (moved: string | null | undefined): string => (moved ? (MOVES[moved] ?? `moved by DST: ${moved}`) : '')

/** A state in its colour, and in words: never the colour alone. */
export function StateMark({ state, reason }: { state: string; reason?: string | null }) {
  return (
    <span className={classes.state} title={reasonText(reason) || undefined}>
      <i className={classes.dot} data-kind={kindOf(state)} />
      {stateName(state)}
    </span>
  )
}

/** The newest outcomes of a schedule, the newest on the right. */
export function Sparkline({ glance, zone }: { glance: Glance | undefined; zone: string }) {
  const choice = useZoneChoice()
  if (!glance) return <span className={classes.line} />
  if (glance.outcomes.length === 0) return <span className="dim">no runs yet</span>
  const longest = Math.max(...glance.outcomes.map(lasted), 1)
  return (
    <ul className={classes.line} aria-label="Newest outcomes, oldest first">
      {[...glance.outcomes].reverse().map((each) => {
        const name = `${stateName(each.state)} · ${instantText(each.scheduled_for, zoneFor(choice, zone))}`
        const why = reasonText(each.reason)
        return (
          <li key={each.run_id}>
            <QuickLink to="/runs/$runId" params={{ runId: each.run_id }} className={classes.slot} tabIndex={-1} aria-label={name} title={why ? `${name}: ${why}` : name}>
              <i data-kind={kindOf(each.state)} style={{ height: `${35 + 65 * Math.sqrt(lasted(each) / longest)}%` }} />
            </QuickLink>
          </li>
        )
      })}
    </ul>
  )
}

function lasted(each: Glance['outcomes'][number]): number {
  return each.started_at && each.finished_at ? Math.max(0, Date.parse(each.finished_at) - Date.parse(each.started_at)) : 0
}
