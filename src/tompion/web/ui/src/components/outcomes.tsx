import type { ScheduleSummary } from '../api/types'
import { instantText } from '../lib/format'
import { displayZone, useZoneChoice } from '../lib/timezones'
import { codesOf, codeText, t } from '../messages'
import classes from './outcomes.module.css'
import { QuickLink } from './QuickLink'

export type OutcomeKind = 'success' | 'failed' | 'running' | 'waiting' | 'skipped' | 'missed' | 'ended' | 'upcoming'

const KIND_BY_STATUS: Record<string, OutcomeKind> = {
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

export const outcomeKind = (status: string): OutcomeKind => KIND_BY_STATUS[status] ?? 'ended'

/** Every status of a run. */
export const RUN_STATUSES = codesOf('runState')

export const statusLabel = (status: string): string => codeText('runState', status)

/** Return why a run has its status, or '' if there is no reason. */
export const reasonText = (reason: string | null | undefined): string => (reason ? codeText('runReason', reason) : '')

/** Return how DST changed the local time of a run, or '' if it did not. */
export function dstText(adjustment: string | null | undefined): string {
  if (!adjustment) return ''
  if (adjustment === 'gap') return t('dst.gap')
  return adjustment === 'overlap' ? t('dst.overlap') : t('dst.other', { kind: adjustment })
}

/** The status of a run, in words and in its colour. */
export function RunStatusLabel({ status, reason }: { status: string; reason?: string | null }) {
  return (
    <span className={classes.state} title={reasonText(reason) || undefined}>
      <i className={classes.dot} data-kind={outcomeKind(status)} />
      {statusLabel(status)}
    </span>
  )
}

/** The recent runs of a schedule as bars, the newest on the right. */
export function Sparkline({ summary, zone }: { summary: ScheduleSummary | undefined; zone: string }) {
  const choice = useZoneChoice()
  if (!summary) return <span className={classes.line} />
  if (summary.outcomes.length === 0) return <span className="dim">{t('runs.none')}</span>
  const maxDuration = Math.max(...summary.outcomes.map(runDuration), 1)
  return (
    <ul className={classes.line} aria-label={t('runs.recent')}>
      {[...summary.outcomes].reverse().map((run) => {
        const at = instantText(run.run_at, displayZone(choice, zone))
        const name = t('runs.outcome', { state: statusLabel(run.status), at })
        const reason = reasonText(run.reason)
        return (
          <li key={run.run_id}>
            <QuickLink
              to="/runs/$runId"
              params={{ runId: run.run_id }}
              className={classes.slot}
              tabIndex={-1}
              aria-label={name}
              title={reason ? t('runs.outcomeReason', { state: statusLabel(run.status), at, reason }) : name}
            >
              <i
                data-kind={outcomeKind(run.status)}
                style={{ height: `${35 + 65 * Math.sqrt(runDuration(run) / maxDuration)}%` }}
              />
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
