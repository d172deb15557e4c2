import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { historyQuery } from '../../api/queries'
import { Diff } from '../../components/Diff'
import { Moment } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import { useZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/audit')

/** Who changed it, when, and how it was before. */
export function History() {
  const { id } = route.useParams()
  const zone = useZone(id)
  const query = useInfiniteQuery(historyQuery(id))
  if (query.isPending) return <Waiting />
  if (query.isError) return <Wrong error={query.error} onRetry={() => void query.refetch()} />
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
              .map((each, at) => (
                <tr key={`${each.at} ${at}`}>
                  <td>
                    <Moment at={each.at} zone={zone} />
                  </td>
                  <td>{each.actor}</td>
                  <td className="nowrap">{each.operation.replaceAll('_', ' ')}</td>
                  <td>{each.version}</td>
                  <td>
                    <Diff before={each.before} after={each.after} />
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
