import type { Run } from '../api/types'
import { durationText, firstLine, NO_VALUE } from '../lib/format'
import { codeText, t } from '../messages'
import { dstText, RunStatusLabel, reasonText } from './outcomes'
import { QuickLink } from './QuickLink'
import { Timestamp } from './Timestamp'

/** A table of runs, of one schedule or of all (`withSchedule`). */
export function RunTable({ runs, zone, withSchedule = false }: { runs: Run[]; zone?: string; withSchedule?: boolean }) {
  return (
    <div className="panel scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th>{t('common.state')}</th>
            {withSchedule && <th>{t('common.schedule')}</th>}
            <th>{t('runs.scheduledFor')}</th>
            <th>{t('runs.startDelay')}</th>
            <th>{t('runs.duration')}</th>
            <th>{t('runs.trigger')}</th>
            <th className="rest">{t('runs.reasonOrError')}</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.run_id}>
              <td>
                <RunStatusLabel status={run.status} reason={run.reason} />
              </td>
              {withSchedule && (
                <td className="nowrap">
                  <QuickLink to="/schedules/$id" params={{ id: run.schedule_id }} className="text-link">
                    {run.schedule_id}
                  </QuickLink>
                </td>
              )}
              <td>
                <QuickLink to="/runs/$runId" params={{ runId: run.run_id }} className="text-link">
                  <Timestamp at={run.run_at} zone={zone} short />
                </QuickLink>
              </td>
              <td className="nowrap">{startDelayText(run)}</td>
              <td className="nowrap">{durationOfRun(run)}</td>
              <td className="dim nowrap">
                {run.attempt > 1
                  ? t('runs.attempt', { source: codeText('runSource', run.source), attempt: run.attempt })
                  : codeText('runSource', run.source)}
              </td>
              <td>
                {[firstLine(run.error), reasonText(run.reason), dstText(run.dst_adjustment)]
                  .filter(Boolean)
                  .join(' · ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function startDelayText(run: Run): string {
  return run.started_at ? durationText(Math.max(0, Date.parse(run.started_at) - Date.parse(run.fire_at))) : NO_VALUE
}

export function durationOfRun(run: Run): string {
  return run.started_at && run.finished_at
    ? durationText(Date.parse(run.finished_at) - Date.parse(run.started_at))
    : NO_VALUE
}
