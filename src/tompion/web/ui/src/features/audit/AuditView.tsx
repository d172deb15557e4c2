import { Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { auditLogQuery } from '../../api/queries'
import type { AuditEntry } from '../../api/types'
import { Diff } from '../../components/Diff'
import { LoadMore } from '../../components/LoadMore'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { NO_VALUE } from '../../lib/format'
import { codeText, t } from '../../messages'

const route = getRouteApi('/audit')
const operationText = (operation: string) => codeText('operation', operation)

/** All changes in the namespace, the newest first. */
export function AuditView() {
  const { operation, actor } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(auditLogQuery())
  const all = query.data?.pages.flatMap((page) => page.items) ?? []
  const items = all.filter(
    (entry) => (!operation || entry.operation === operation) && (!actor || entry.actor === actor),
  )
  const applyFilter = (changes: { operation?: string; actor?: string }) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace: true })
  return (
    <>
      <PageHeader
        title={t('nav.audit')}
        note={(operation || actor) && t('audit.loaded', { matching: items.length, count: all.length })}
      >
        <FilterSelect
          label={t('audit.action')}
          value={operation}
          values={all.map((entry) => entry.operation)}
          text={operationText}
          onChange={(value) => applyFilter({ operation: value })}
        />
        <FilterSelect
          label={t('audit.actor')}
          value={actor}
          values={all.map((entry) => entry.actor)}
          onChange={(value) => applyFilter({ actor: value })}
        />
      </PageHeader>
      {query.isPending ? (
        <Loading />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState title={t('audit.none')}>{t('audit.noneHelp')}</EmptyState>
      ) : (
        <>
          <div className="panel scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th>{t('audit.time')}</th>
                  <th>{t('audit.actor')}</th>
                  <th>{t('audit.action')}</th>
                  <th>{t('audit.resource')}</th>
                  <th>{t('audit.changes')}</th>
                </tr>
              </thead>
              <tbody>
                {items.map((entry, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: entries have no id, and only newer ones are added
                  <tr key={`${entry.at} ${at}`}>
                    <td>
                      <Timestamp at={entry.at} />
                    </td>
                    <td>{entry.actor}</td>
                    <td className="nowrap">{operationText(entry.operation)}</td>
                    <td>
                      <Resource change={entry} />
                    </td>
                    <td>
                      <details>
                        <summary className="dim">{t('common.view')}</summary>
                        <Diff before={entry.before} after={entry.after} />
                      </details>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <LoadMore query={query} />
        </>
      )}
    </>
  )
}

interface FilterSelectProps {
  label: string
  value: string | undefined
  values: string[]
  text?: (value: string) => string
  onChange: (value: string | undefined) => void
}

/** A filter with the values that occur in the loaded entries. */
function FilterSelect({ label, value, values, text = String, onChange }: FilterSelectProps) {
  const data = [...new Set(value ? [...values, value] : values)]
    .sort()
    .map((item) => ({ value: item, label: text(item) }))
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={data}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      clearable
      w={170}
    />
  )
}

/** The changed resource, as a link. */
function Resource({ change }: { change: AuditEntry }) {
  if (change.schedule_id)
    return (
      <Link to="/schedules/$id/audit" params={{ id: change.schedule_id }} className="text-link">
        {change.schedule_id}
      </Link>
    )
  const fields = { ...(change.before as object | null), ...(change.after as object | null) } as Record<
    string,
    string | undefined
  >
  const workflowId = fields.workflow_id ?? fields.workflow
  if (workflowId)
    return (
      <Link to="/workflows/$workflowId" params={{ workflowId }} className="text-link">
        {t('audit.workflow', { name: workflowId })}
      </Link>
    )
  if (fields.calendar)
    return (
      <Link to="/calendars" search={{ calendar: fields.calendar }} className="text-link">
        {t('audit.calendar', { name: fields.calendar })}
      </Link>
    )
  if (fields.queue)
    return (
      <Link to="/queues" className="text-link">
        {t('audit.queue', { name: fields.queue })}
      </Link>
    )
  return fields.key_id ? t('audit.key', { name: fields.name ?? fields.key_id }) : NO_VALUE
}
