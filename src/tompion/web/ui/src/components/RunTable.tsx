import type { Run } from '../api/types'
import { durationText, firstLine } from '../lib/format'
import { Timestamp } from './Timestamp'
import { dstText, reasonText, RunStateLabel } from './outcomes'
import { QuickLink } from './QuickLink'

/** Runs, one a row; of all schedules, or of the one that everything here is about. */
export function RunTable({ runs, zone, withSchedule = false }: { runs: Run[]; zone?: string; withSchedule?: boolean }) {
  return (
    <div className="panel scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th>State</th>
            {withSchedule && <th>Schedule</th>}
            <th>Tick</th>
            <th>Late by</th>
            <th>Took</th>
            <th>Source</th>
            <th className="rest">Why</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.run_id}>
              <td>
                <RunStateLabel state={run.state} reason={run.reason} />
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
                  <Timestamp at={run.scheduled_for} zone={zone} short />
                </QuickLink>
              </td>
              <td className="nowrap">{startDelayText(run)}</td>
              <td className="nowrap">{durationOfRun(run)}</td>
              <td className="dim nowrap">
                {run.source}
                {run.attempt > 1 && ` · attempt ${run.attempt}`}
              </td>
              <td>
                {[firstLine(run.error), reasonText(run.reason), dstText(run.moved)].filter(Boolean).join(' · ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function startDelayText(run: Run): string {
  return run.started_at ? durationText(Math.max(0, Date.parse(run.started_at) - Date.parse(run.fire_at))) : '–'
}

export function durationOfRun(run: Run): string {
  return run.started_at && run.finished_at ? durationText(Date.parse(run.finished_at) - Date.parse(run.started_at)) : '–'
}
