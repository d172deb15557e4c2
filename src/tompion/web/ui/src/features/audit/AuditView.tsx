import { Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'

import { auditQuery } from '../../api/queries'
import type { Change } from '../../api/types'
import { Diff } from '../../components/Diff'
import { countText } from '../../lib/format'
import { Moment } from '../../components/Timestamp'
import { More } from '../../components/LoadMore'
import { Empty, Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'

const route = getRouteApi('/audit')

/** Who changed what, of everything in this namespace, the newest first. */
export function Audit() {
  const { operation, actor } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(auditQuery())
  const all = query.data?.pages.flatMap((page) => page.items) ?? []
  const items = all.filter((each) => (!operation || each.operation === operation) && (!actor || each.actor === actor))
  const narrow = (changed: { operation?: string; actor?: string }) => void navigate({ search: (before) => ({ ...before, ...changed }), replace: true })
  return (
    <>
      <PageHead title="Audit" note={(operation || actor) && `${items.length} of the ${countText(all.length, 'change')} that were read`}>
        <Choice label="What" value={operation} among={all.map((each) => each.operation)} onChange={(value) => narrow({ operation: value })} />
        <Choice label="Who" value={actor} among={all.map((each) => each.actor)} onChange={(value) => narrow({ actor: value })} />
      </PageHead>
      {query.isPending ? (
        <Waiting />
      ) : query.isError ? (
        <Wrong error={query.error} onRetry={() => void query.refetch()} />
      ) : all.length === 0 ? (
        <Empty title="Nobody has changed anything yet">Every change is written down here: who, when, and how it was before.</Empty>
      ) : (
        <>
          <div className="panel scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th>When</th>
                  <th>Who</th>
                  <th>What</th>
                  <th>Of</th>
                  <th>Change</th>
                </tr>
              </thead>
              <tbody>
                {items.map((each, at) => (
                  <tr key={`${each.at} ${at}`}>
                    <td>
                      <Moment at={each.at} />
                    </td>
                    <td>{each.actor}</td>
                    <td className="nowrap">{each.operation.replaceAll('_', ' ')}</td>
                    <td>
                      <Subject change={each} />
                    </td>
                    <td>
                      <details>
                        <summary className="dim">Show</summary>
                        <Diff before={each.before} after={each.after} />
                      </details>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <More query={query}>Older changes</More>
        </>
      )}
    </>
  )
}

interface ChoiceProps {
  label: string
  value: string | undefined
  among: string[]
  onChange: (value: string | undefined) => void
}

/** One of what occurs in the changes that were read. */
function Choice({ label, value, among, onChange }: ChoiceProps) {
  const data = [...new Set(value ? [...among, value] : among)].sort().map((each) => ({ value: each, label: each.replaceAll('_', ' ') }))
  return <Select aria-label={label} placeholder={label} data={data} value={value ?? null} onChange={(chosen) => onChange(chosen ?? undefined)} clearable w={170} />
}

/** What was changed, with the way to it. */
function Subject({ change }: { change: Change }) {
  if (change.schedule_id)
    return (
      <Link to="/schedules/$id/audit" params={{ id: change.schedule_id }} className="text-link">
        {change.schedule_id}
      </Link>
    )
  const told = { ...(change.before as object | null), ...(change.after as object | null) } as Record<string, string | undefined>
  const workflowId = told.workflow_id ?? told.workflow
  if (workflowId)
    return (
      <Link to="/workflows/$workflowId" params={{ workflowId }} className="text-link">
        workflow {workflowId}
      </Link>
    )
  if (told.calendar)
    return (
      <Link to="/calendars" search={{ calendar: told.calendar }} className="text-link">
        calendar {told.calendar}
      </Link>
    )
  if (told.queue)
    return (
      <Link to="/queues" className="text-link">
        queue {told.queue}
      </Link>
    )
  return told.key_id ? `key ${told.name ?? told.key_id}` : '–'
}
