import { Button, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { runsQuery } from '../../api/queries'
import { LoadMore } from '../../components/LoadMore'
import { RUN_STATUSES, statusLabel } from '../../components/outcomes'
import { RunTable } from '../../components/RunTable'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { codesOf, codeText, t } from '../../messages'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/runs')
const SOURCES = codesOf('runSource').map((value) => ({ value, label: codeText('runSource', value) }))

/** The runs of a schedule, the newest first, with live updates. */
export function RunsTab() {
  const { id } = route.useParams()
  const { run_status: status, source } = route.useSearch()
  const navigate = route.useNavigate()
  const zone = useScheduleZone(id)
  const query = useInfiniteQuery(runsQuery(id, { status, source }))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <div className={classes.bar}>
        <Select
          aria-label={t('common.state')}
          placeholder={t('common.anyState')}
          clearable
          data={RUN_STATUSES.map((value) => ({ value, label: statusLabel(value) }))}
          value={status ?? null}
          onChange={(value) =>
            void navigate({ search: (all) => ({ ...all, run_status: value ?? undefined }), replace: true })
          }
        />
        <Select
          aria-label={t('runs.trigger')}
          placeholder={t('runs.anyTrigger')}
          clearable
          data={SOURCES}
          value={source ?? null}
          onChange={(value) =>
            void navigate({ search: (all) => ({ ...all, source: value ?? undefined }), replace: true })
          }
        />
      </div>
      {query.isPending ? (
        <Loading />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : runs.length === 0 ? (
        <EmptyState title={t(status || source ? 'runs.noneMatching' : 'runs.noneYet')}>
          {status || source ? (
            <Button
              variant="default"
              onClick={() =>
                void navigate({
                  search: (all) => ({ ...all, run_status: undefined, source: undefined }),
                  replace: true,
                })
              }
            >
              {t('common.clearFilters')}
            </Button>
          ) : (
            t('runsTab.help')
          )}
        </EmptyState>
      ) : (
        <>
          <RunTable runs={runs} zone={zone} />
          <LoadMore query={query} />
        </>
      )}
    </>
  )
}
