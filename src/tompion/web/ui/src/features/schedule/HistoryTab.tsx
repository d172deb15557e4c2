import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { historyQuery } from '../../api/queries'
import { Diff } from '../../components/Diff'
import { Timestamp } from '../../components/Timestamp'
import { Loading, ErrorState } from '../../components/states'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/audit')

/** Who changed it, when, and how it was before. */
export function HistoryTab() {
  const { id } = route.useParams()
  const zone = useScheduleZone(id)
  const query = useInfiniteQuery(historyQuery(id))
  if (query.isPending) return <Loading />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <>
      <div className="panel scroll-x">
        <table className="plain-table">
          <thead>
            <tr>
              <th>When</th>
              <th>Who</th>
              <th>What</th>
              <th>Version</th>
              <th>Change</th>
            </tr>
          </thead>
          <tbody>
            {query.data.pages
              .flatMap((page) => page.items)
              .map((entry, at) => (
                <tr key={`${entry.at} ${at}`}>
                  <td>
                    <Timestamp at={entry.at} zone={zone} />
                  </td>
                  <td>{entry.actor}</td>
                  <td className="nowrap">{entry.operation.replaceAll('_', ' ')}</td>
                  <td>{entry.version}</td>
                  <td>
                    <Diff before={entry.before} after={entry.after} />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      {query.hasNextPage && (
        <Button mt="sm" variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Older changes
        </Button>
      )}
    </>
  )
}
