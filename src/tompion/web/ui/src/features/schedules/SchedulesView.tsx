import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import { scheduleCountQuery, schedulesQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import type { ScheduleFilter } from '../../api/types'
import { CodeBlock } from '../../components/CodeBlock'
import { Icon } from '../../components/Icon'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { numberText, t } from '../../messages'
import { BulkActions } from './BulkActions'
import { Filters } from './Filters'
import { ScheduleTable } from './ScheduleTable'

const route = getRouteApi('/schedules')

/** The list of all schedules, with filters and actions. */
export function SchedulesView() {
  const search = route.useSearch()
  const filter = useMemo(
    () => ({
      text: search.text,
      status: search.status,
      workflow_id: search.workflow_id,
      label: search.label,
      user_id: search.user_id,
    }),
    [search],
  )
  const query = useInfiniteQuery(schedulesQuery(filter))
  const mayOperate = useIsAllowed('operator')
  const mayEdit = useIsAllowed('editor')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const clearSelection = useCallback(() => setSelected(new Set()), [])
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data])
  const isFiltered = Object.values(filter).some(Boolean)
  return (
    <>
      <PageHeader
        title={t('nav.schedules')}
        note={
          <ScheduleCount
            filter={filter}
            isFiltered={isFiltered}
            isListLoaded={query.isSuccess && !query.isPlaceholderData}
          />
        }
      >
        {mayEdit && (
          <Button renderRoot={(props) => <Link {...props} to="/new" />} leftSection={<Icon name="plus" />}>
            {t('schedules.new')}
          </Button>
        )}
        {mayOperate && (
          <BulkActions filter={filter} filtered={isFiltered} selected={selected} onDone={clearSelection} />
        )}
      </PageHeader>
      <Filters filter={filter} />
      <div className="panel">
        {query.isPending ? (
          <div style={{ padding: '1rem' }}>
            <Loading lines={10} />
          </div>
        ) : query.isError && !query.data ? (
          <ErrorState error={query.error} onRetry={() => void query.refetch()} />
        ) : items.length === 0 ? (
          <NoSchedules isFiltered={isFiltered} />
        ) : (
          <ScheduleTable
            items={items}
            hasMore={query.hasNextPage}
            onLoadMore={() => !query.isFetchingNextPage && void query.fetchNextPage()}
            selected={selected}
            onSelect={setSelected}
            mayOperate={mayOperate}
          />
        )}
      </div>
    </>
  )
}

/** The number of matching schedules: "1,234 of 100,000". It is loaded after the list itself. */
function ScheduleCount({
  filter,
  isFiltered,
  isListLoaded,
}: {
  filter: ScheduleFilter
  isFiltered: boolean
  isListLoaded: boolean
}) {
  const { data: counts, isPlaceholderData: isStale } = useQuery({
    ...scheduleCountQuery(filter),
    enabled: isListLoaded,
  })
  if (!counts) return null
  const matching = isStale ? '…' : numberText(counts.matching)
  const total = counts.capped ? t('schedules.capped', { count: counts.total }) : numberText(counts.total)
  if (!isFiltered) return total
  return filter.status === 'closed'
    ? t('schedules.countDeleted', { matching })
    : t('schedules.countOf', { matching, total })
}

/** Return a command that creates a schedule on this server. */
function createCommand(): string {
  const schedule = { schedule_id: 'report', cron: '0 9 * * MON-FRI', timezone: 'UTC', function: 'tasks:report' }
  const body = JSON.stringify(schedule).replaceAll(',"', ', "').replaceAll('":', '": ')
  return `curl ${window.location.origin}/api/v1/schedules \\\n  --json '${body}'`
}

function NoSchedules({ isFiltered }: { isFiltered: boolean }) {
  const navigate = route.useNavigate()
  const mayEdit = useIsAllowed('editor')
  if (isFiltered)
    return (
      <EmptyState title={t('schedules.noMatch')}>
        <Button variant="default" onClick={() => void navigate({ search: (all) => ({ namespace: all.namespace }) })}>
          {t('common.clearFilters')}
        </Button>
      </EmptyState>
    )
  return (
    <EmptyState title={t('schedules.noneYet')}>
      <p>{t('schedules.noneYetHelp')}</p>
      <CodeBlock value={createCommand()} label={t('schedules.createCommand')} />
      {mayEdit && (
        <Button renderRoot={(props) => <Link {...props} to="/new" />} leftSection={<Icon name="plus" />}>
          {t('schedules.create')}
        </Button>
      )}
    </EmptyState>
  )
}
