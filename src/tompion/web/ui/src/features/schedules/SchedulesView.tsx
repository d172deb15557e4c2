import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'

import { scheduleCountQuery, schedulesQuery } from '../../api/queries'
import type { ScheduleFilter } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { Icon } from '../../components/Icon'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { BulkActions } from './BulkActions'
import { Filters } from './Filters'
import { ScheduleTable } from './ScheduleTable'

const route = getRouteApi('/schedules')

/** All schedules: found, read and acted on without leaving the list. */
export function SchedulesView() {
  const search = route.useSearch()
  const filter = useMemo(
    () => ({ text: search.text, state: search.state, workflow_id: search.workflow_id, label: search.label, user_id: search.user_id }),
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
      <PageHeader title="Schedules" note={<ScheduleCount filter={filter} isFiltered={isFiltered} isListLoaded={query.isSuccess && !query.isPlaceholderData} />}>
        {mayEdit && (
          <Button renderRoot={(props) => <Link {...props} to="/new" />} leftSection={<Icon name="plus" />}>
            New schedule
          </Button>
        )}
        {mayOperate && <BulkActions filter={filter} filtered={isFiltered} selected={selected} onDone={clearSelection} />}
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

/** How many match, and of how many: "1,234 of 100,000"; they are counted once those to be seen are there. */
function ScheduleCount({ filter, isFiltered, isListLoaded }: { filter: ScheduleFilter; isFiltered: boolean; isListLoaded: boolean }) {
  const { data: counts, isPlaceholderData: isStale } = useQuery({ ...scheduleCountQuery(filter), enabled: isListLoaded })
  if (!counts) return null
  const matching = isStale ? '…' : counts.matching.toLocaleString('en-GB')
  const total = counts.total.toLocaleString('en-GB')
  const plus = counts.capped ? 'more than ' : ''
  if (!isFiltered) return `${plus}${total}`
  return filter.state === 'closed' ? `${matching} deleted` : `${matching} of ${plus}${total}`
}

function NoSchedules({ isFiltered }: { isFiltered: boolean }) {
  const navigate = route.useNavigate()
  if (isFiltered)
    return (
      <EmptyState title="No schedule matches">
        <Button variant="default" onClick={() => void navigate({ search: (all) => ({ namespace: all.namespace }) })}>
          Show all schedules
        </Button>
      </EmptyState>
    )
  return (
    <EmptyState title="There are no schedules yet">
      <p>A schedule says when something runs, and what. From a shell:</p>
      <pre className="raw">
        {'tompion schedules put report --cron "0 9 * * MON-FRI" \\\n    --timezone Europe/Berlin --function tasks:report'}
      </pre>
      <p>It shows up here at once, with its next tick.</p>
    </EmptyState>
  )
}
