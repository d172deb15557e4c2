import { Button, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { recentRunsQuery } from '../../api/queries'
import { Empty, Waiting, Wrong } from '../../components/states'
import { stateName, STATES } from '../../components/outcomes'
import { PageHead } from '../../components/PageHeader'
import { RunTable } from '../../components/RunTable'

const route = getRouteApi('/runs')

/** The runs of all schedules, in the order in which they were decided. */
export function RecentRuns() {
  const { state } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(recentRunsQuery({ state }))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHead title="Runs">
        <Select
          aria-label="State"
          placeholder="Any state"
          clearable
          data={STATES.map((value) => ({ value, label: stateName(value) }))}
          value={state ?? null}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, state: value ?? undefined }), replace: true })}
        />
      </PageHead>
      {query.isPending ? (
        <Waiting lines={10} />
      ) : query.isError ? (
        <Wrong error={query.error} onRetry={() => void query.refetch()} />
      ) : runs.length === 0 && !query.hasNextPage ? (
        <Empty title="No runs yet">A tick that is decided becomes a run: started, skipped, or waiting for another.</Empty>
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
