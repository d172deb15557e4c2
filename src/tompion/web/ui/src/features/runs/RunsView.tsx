import { Button, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { recentRunsQuery } from '../../api/queries'
import { LoadMore } from '../../components/LoadMore'
import { RUN_STATES, stateLabel } from '../../components/outcomes'
import { PageHeader } from '../../components/PageHeader'
import { RunTable } from '../../components/RunTable'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { t } from '../../messages'

const route = getRouteApi('/runs')

/** The runs of all schedules, the newest first. */
export function RunsView() {
  const { state } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(recentRunsQuery({ state }))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title={t('nav.runs')}>
        <Select
          aria-label={t('common.state')}
          placeholder={t('common.anyState')}
          clearable
          data={RUN_STATES.map((value) => ({ value, label: stateLabel(value) }))}
          value={state ?? null}
          onChange={(value) =>
            void navigate({ search: (all) => ({ ...all, state: value ?? undefined }), replace: true })
          }
        />
      </PageHeader>
      {query.isPending ? (
        <Loading lines={10} />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : runs.length === 0 && !query.hasNextPage ? (
        <EmptyState title={t(state ? 'runs.noneMatching' : 'runs.noneYet')}>
          {state ? (
            <Button
              variant="default"
              onClick={() => void navigate({ search: (all) => ({ ...all, state: undefined }), replace: true })}
            >
              {t('common.clearFilters')}
            </Button>
          ) : (
            t('runs.noneYetHelp')
          )}
        </EmptyState>
      ) : (
        <>
          <RunTable runs={runs} withSchedule />
          <LoadMore query={query} />
        </>
      )}
    </>
  )
}
