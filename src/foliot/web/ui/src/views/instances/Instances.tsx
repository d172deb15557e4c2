import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'

import { instancesQuery } from '../../api/queries'
import type { Instance } from '../../api/types'
import { durationText } from '../../parts/format'
import { Moment, Relative } from '../../parts/Moment'
import { Empty, Waiting, Wrong } from '../../parts/notes'
import { PageHead } from '../../parts/Page'

/** The processes that fire and execute, whether they live, and how well their clocks go. */
export function Instances() {
  const found = useQuery(instancesQuery())
  return (
    <>
      <PageHead title="Instances" />
      {found.isPending ? (
        <Waiting />
      ) : found.isError ? (
        <Wrong error={found.error} onRetry={() => void found.refetch()} />
      ) : found.data.length === 0 ? (
        <Empty title="No instance has ever been here">
          <p>An instance fires schedules and runs what they start. One comes with the service, others can be added:</p>
          <pre className="raw">foliot worker --store postgresql://… --queue default</pre>
        </Empty>
      ) : (
        <div className="panel scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th>Name</th>
                <th>State</th>
                <th>Kind</th>
                <th>Queues</th>
                <th>Release</th>
                <th>Heard of</th>
                <th>Started</th>
                <th>Clock</th>
              </tr>
            </thead>
            <tbody>
              {found.data.map((each) => (
                <tr key={each.instance_id}>
                  <td>{each.name}</td>
                  <td>
                    <State instance={each} />
                  </td>
                  <td>{each.kind}</td>
                  <td>{each.queues.join(', ')}</td>
                  <td>{each.release || '–'}</td>
                  <td>
                    <Relative at={each.heard_of_at} />
                  </td>
                  <td>
                    <Moment at={each.started_at} precision="minute" />
                  </td>
                  <td className="nowrap">{Math.abs(each.skew_ms) < 50 ? 'exact' : `${durationText(Math.abs(each.skew_ms))} ${each.skew_ms > 0 ? 'ahead' : 'behind'}`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function State({ instance }: { instance: Instance }) {
  if (instance.alive) return <Badge color="verdigris">alive</Badge>
  if (instance.stopped_at) return <Badge color="gray">stopped</Badge>
  return <Badge color="red">lost</Badge>
}
