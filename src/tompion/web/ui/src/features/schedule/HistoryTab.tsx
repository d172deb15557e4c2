import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { historyQuery } from '../../api/queries'
import { Diff } from '../../components/Diff'
import { LoadMore } from '../../components/LoadMore'
import { ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { codeText, t } from '../../messages'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/audit')

/** The audit log of one schedule: actor, time and changes. */
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
              <th>{t('audit.time')}</th>
              <th>{t('audit.actor')}</th>
              <th>{t('audit.action')}</th>
              <th>{t('common.version')}</th>
              <th>{t('audit.changes')}</th>
            </tr>
          </thead>
          <tbody>
            {query.data.pages
              .flatMap((page) => page.items)
              .map((entry, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: entries have no id, and only newer ones are added
                <tr key={`${entry.at} ${at}`}>
                  <td>
                    <Timestamp at={entry.at} zone={zone} />
                  </td>
                  <td>{entry.actor}</td>
                  <td className="nowrap">{codeText('operation', entry.operation)}</td>
                  <td>{entry.definition_version}</td>
                  <td>
                    <Diff before={entry.before} after={entry.after} />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      <LoadMore query={query} />
    </>
  )
}
