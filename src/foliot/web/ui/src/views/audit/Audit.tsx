import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { auditQuery } from '../../api/queries'
import { Diff } from '../../parts/Diff'
import { Moment } from '../../parts/Moment'
import { More } from '../../parts/More'
import { Empty, Waiting, Wrong } from '../../parts/notes'
import { PageHead } from '../../parts/Page'

/** Who changed what, of everything in this namespace, the newest first. */
export function Audit() {
  const query = useInfiniteQuery(auditQuery())
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHead title="Audit" />
      {query.isPending ? (
        <Waiting />
      ) : query.isError ? (
        <Wrong error={query.error} onRetry={() => void query.refetch()} />
      ) : items.length === 0 ? (
        <Empty title="Nobody has changed anything yet">Every change is written down here: who, when, and how it was before.</Empty>
      ) : (
        <>
          <div className="panel scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th>When</th>
                  <th>Who</th>
                  <th>What</th>
                  <th>Of</th>
                  <th>Change</th>
                </tr>
              </thead>
              <tbody>
                {items.map((each, at) => (
                  <tr key={`${each.at} ${at}`}>
                    <td>
                      <Moment at={each.at} />
                    </td>
                    <td>{each.actor}</td>
                    <td className="nowrap">{each.operation.replaceAll('_', ' ')}</td>
                    <td>
                      {each.schedule_id ? (
                        <Link to="/schedules/$id/audit" params={{ id: each.schedule_id }} className="text-link">
                          {each.schedule_id}
                        </Link>
                      ) : (
                        '–'
                      )}
                    </td>
                    <td>
                      <details>
                        <summary className="dim">Show</summary>
                        <Diff before={each.before} after={each.after} />
                      </details>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <More query={query}>Older changes</More>
        </>
      )}
    </>
  )
}
