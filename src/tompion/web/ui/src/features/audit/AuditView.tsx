import { Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'

import { auditLogQuery } from '../../api/queries'
import type { AuditEntry } from '../../api/types'
import { Diff } from '../../components/Diff'
import { countText } from '../../lib/format'
import { Timestamp } from '../../components/Timestamp'
import { LoadMore } from '../../components/LoadMore'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'

const route = getRouteApi('/audit')

/** Who changed what, of everything in this namespace, the newest first. */
export function AuditView() {
  const { operation, actor } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(auditLogQuery())
  const all = query.data?.pages.flatMap((page) => page.items) ?? []
  const items = all.filter((entry) => (!operation || entry.operation === operation) && (!actor || entry.actor === actor))
  const applyFilter = (changes: { operation?: string; actor?: string }) => void navigate({ search: (before) => ({ ...before, ...changes }), replace: true })
  return (
    <>
      <PageHeader title="Audit" note={(operation || actor) && `${items.length} of the ${countText(all.length, 'change')} that were read`}>
        <FilterSelect label="What" value={operation} values={all.map((entry) => entry.operation)} onChange={(value) => applyFilter({ operation: value })} />
        <FilterSelect label="Who" value={actor} values={all.map((entry) => entry.actor)} onChange={(value) => applyFilter({ actor: value })} />
      </PageHeader>
      {query.isPending ? (
        <Loading />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState title="Nobody has changed anything yet">Every change is written down here: who, when, and how it was before.</EmptyState>
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
                {items.map((entry, at) => (
                  <tr key={`${entry.at} ${at}`}>
                    <td>
                      <Timestamp at={entry.at} />
                    </td>
                    <td>{entry.actor}</td>
                    <td className="nowrap">{entry.operation.replaceAll('_', ' ')}</td>
                    <td>
                      <Resource change={entry} />
                    </td>
                    <td>
                      <details>
                        <summary className="dim">Show</summary>
                        <Diff before={entry.before} after={entry.after} />
                      </details>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <LoadMore query={query}>Older changes</LoadMore>
        </>
      )}
    </>
  )
}

interface FilterSelectProps {
  label: string
  value: string | undefined
  values: string[]
  onChange: (value: string | undefined) => void
}

/** One of what occurs in the changes that were read. */
function FilterSelect({ label, value, values, onChange }: FilterSelectProps) {
  const data = [...new Set(value ? [...values, value] : values)].sort().map((item) => ({ value: item, label: item.replaceAll('_', ' ') }))
  return <Select aria-label={label} placeholder={label} data={data} value={value ?? null} onChange={(chosen) => onChange(chosen ?? undefined)} clearable w={170} />
}

/** What was changed, with the way to it. */
function Resource({ change }: { change: AuditEntry }) {
  if (change.schedule_id)
    return (
      <Link to="/schedules/$id/audit" params={{ id: change.schedule_id }} className="text-link">
        {change.schedule_id}
      </Link>
    )
  const fields = { ...(change.before as object | null), ...(change.after as object | null) } as Record<string, string | undefined>
  const workflowId = fields.workflow_id ?? fields.workflow
  if (workflowId)
    return (
      <Link to="/workflows/$workflowId" params={{ workflowId }} className="text-link">
        workflow {workflowId}
      </Link>
    )
  if (fields.calendar)
    return (
      <Link to="/calendars" search={{ calendar: fields.calendar }} className="text-link">
        calendar {fields.calendar}
      </Link>
    )
  if (fields.queue)
    return (
      <Link to="/queues" className="text-link">
        queue {fields.queue}
      </Link>
    )
  return fields.key_id ? `key ${fields.name ?? fields.key_id}` : '–'
}
