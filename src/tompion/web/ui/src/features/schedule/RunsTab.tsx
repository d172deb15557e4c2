import { Button, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { runsQuery } from '../../api/queries'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { stateLabel, RUN_STATES } from '../../components/outcomes'
import { RunTable } from '../../components/RunTable'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/runs')
const SOURCES = ['schedule', 'trigger', 'backfill', 'hint']

/** What became of each tick, the newest first, as it happens. */
export function RunsTab() {
  const { id } = route.useParams()
  const { run_state: state, source } = route.useSearch()
  const navigate = route.useNavigate()
  const zone = useScheduleZone(id)
  const query = useInfiniteQuery(runsQuery(id, { state, source }))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <div className={classes.bar}>
        <Select
          aria-label="State"
          placeholder="Any state"
          clearable
          data={RUN_STATES.map((value) => ({ value, label: stateLabel(value) }))}
          value={state ?? null}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, run_state: value ?? undefined }), replace: true })}
        />
        <Select
          aria-label="Source"
          placeholder="Any source"
          clearable
          data={SOURCES}
          value={source ?? null}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, source: value ?? undefined }), replace: true })}
        />
      </div>
      {query.isPending ? (
        <Loading />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : runs.length === 0 ? (
        <EmptyState title="No runs yet">
          {state || source ? 'None is like that.' : 'The first tick makes the first run; to see one at once, trigger the schedule.'}
        </EmptyState>
      ) : (
        <>
          <RunTable runs={runs} zone={zone} />
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
