import { Button, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { recentRunsQuery } from '../../api/queries'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { stateLabel, RUN_STATES } from '../../components/outcomes'
import { PageHeader } from '../../components/PageHeader'
import { RunTable } from '../../components/RunTable'

const route = getRouteApi('/runs')

/** The runs of all schedules, in the order in which they were decided. */
export function RunsView() {
  const { state } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(recentRunsQuery({ state }))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title="Runs">
        <Select
          aria-label="State"
          placeholder="Any state"
          clearable
          data={RUN_STATES.map((value) => ({ value, label: stateLabel(value) }))}
          value={state ?? null}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, state: value ?? undefined }), replace: true })}
        />
      </PageHeader>
      {query.isPending ? (
        <Loading lines={10} />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : runs.length === 0 && !query.hasNextPage ? (
        <EmptyState title="No runs yet">A tick that is decided becomes a run: started, skipped, or waiting for another.</EmptyState>
      ) : (
        <>
          <RunTable runs={runs} withSchedule />
          {query.hasNextPage && (
            <Button mt="sm" variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Older runs
            </Button>
          )}
        </>
      )}
    </>
  )
}
