import type { Run } from '../api/types'
import { durationText, firstLine } from '../lib/format'
import { Moment } from './Timestamp'
import { movedText, reasonText, StateMark } from './outcomes'
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
                <StateMark state={run.state} reason={run.reason} />
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
                  <Moment at={run.scheduled_for} zone={zone} near />
                </QuickLink>
              </td>
              <td className="nowrap">{lateness(run)}</td>
              <td className="nowrap">{took(run)}</td>
              <td className="dim nowrap">
                {run.source}
                {run.attempt > 1 && ` · attempt ${run.attempt}`}
              </td>
              <td>
                {[firstLine(run.error), reasonText(run.reason), movedText(run.moved)].filter(Boolean).join(' · ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function lateness(run: Run): string {
  return run.started_at ? durationText(Math.max(0, Date.parse(run.started_at) - Date.parse(run.fire_at))) : '–'
}

export function took(run: Run): string {
  return run.started_at && run.finished_at ? durationText(Date.parse(run.finished_at) - Date.parse(run.started_at)) : '–'
}
