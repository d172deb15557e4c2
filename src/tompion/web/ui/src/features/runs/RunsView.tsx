import { Button, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { recentRunsQuery } from '../../api/queries'
import { LoadMore } from '../../components/LoadMore'
import { RUN_STATUSES, statusLabel } from '../../components/outcomes'
import { PageHeader } from '../../components/PageHeader'
import { RunTable } from '../../components/RunTable'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { t } from '../../messages'

const route = getRouteApi('/runs')

/** The runs of all schedules, the newest first. */
export function RunsView() {
  const { status } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useInfiniteQuery(recentRunsQuery({ status }))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title={t('nav.runs')}>
        <Select
          aria-label={t('common.state')}
          placeholder={t('common.anyState')}
          clearable
          data={RUN_STATUSES.map((value) => ({ value, label: statusLabel(value) }))}
          value={status ?? null}
          onChange={(value) =>
            void navigate({ search: (all) => ({ ...all, status: value ?? undefined }), replace: true })
          }
        />
      </PageHeader>
      {query.isPending ? (
        <Loading lines={10} />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : runs.length === 0 && !query.hasNextPage ? (
        <EmptyState title={t(status ? 'runs.noneMatching' : 'runs.noneYet')}>
          {status ? (
            <Button
              variant="default"
              onClick={() => void navigate({ search: (all) => ({ ...all, status: undefined }), replace: true })}
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
