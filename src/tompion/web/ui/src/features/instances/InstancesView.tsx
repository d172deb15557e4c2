import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'

import { instancesQuery, skewedQuery } from '../../api/queries'
import type { Instance } from '../../api/types'
import { clockText } from '../../lib/format'
import { Listing, type Column } from '../../components/DataTable'
import { Moment, Relative } from '../../components/Timestamp'
import { Empty } from '../../components/states'
import { PageHead } from '../../components/PageHeader'

const COLUMNS: Column<Instance>[] = [
  { name: 'Name', cell: (each) => each.name },
  { name: 'State', cell: (each) => <State instance={each} /> },
  { name: 'Kind', cell: (each) => each.kind },
  { name: 'Queues', cell: (each) => each.queues.join(', ') },
  { name: 'Release', cell: (each) => each.release || '–' },
  { name: 'Heard of', cell: (each) => <Relative at={each.heard_of_at} /> },
  { name: 'Started', cell: (each) => <Moment at={each.started_at} precision="minute" /> },
  { name: 'Clock', cell: (each) => clockText(each.skew_ms), className: 'nowrap' },
]

/** The processes that fire and execute, whether they live, and how well their clocks go. */
export function Instances() {
  const found = useQuery(instancesQuery())
  return (
    <>
      <PageHead title="Instances" />
      <Listing
        query={found}
        items={found.data ?? []}
        keyOf={(each) => String(each.instance_id)}
        columns={COLUMNS}
        empty={
          <Empty title="No instance has ever been here">
            <p>An instance fires schedules and runs what they start. One comes with the service, others can be added:</p>
            <pre className="raw">tompion worker --store postgresql://… --queue default</pre>
          </Empty>
        }
      />
    </>
  )
}

function State({ instance }: { instance: Instance }) {
  const skewed = useQuery(skewedQuery()).data?.has(instance.name)
  if (instance.alive && skewed)
    return (
      <Badge color="red" title="It fires nothing until its clock agrees with that of the store: set the clock of its machine, by NTP if possible">
        clock is off
      </Badge>
    )
  if (instance.alive) return <Badge color="verdigris">alive</Badge>
  if (instance.stopped_at) return <Badge color="gray">stopped</Badge>
  return <Badge color="red">lost</Badge>
}
