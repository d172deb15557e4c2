import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'

import { instancesQuery, skewedInstancesQuery } from '../../api/queries'
import type { Instance } from '../../api/types'
import { clockText } from '../../lib/format'
import { DataTable, type Column } from '../../components/DataTable'
import { Timestamp, RelativeTime } from '../../components/Timestamp'
import { EmptyState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'

const COLUMNS: Column<Instance>[] = [
  { name: 'Name', cell: (instance) => instance.name },
  { name: 'State', cell: (instance) => <InstanceState instance={instance} /> },
  { name: 'Kind', cell: (instance) => instance.kind },
  { name: 'Queues', cell: (instance) => instance.queues.join(', ') },
  { name: 'Release', cell: (instance) => instance.release || '–' },
  { name: 'Heard of', cell: (instance) => <RelativeTime at={instance.heard_of_at} /> },
  { name: 'Started', cell: (instance) => <Timestamp at={instance.started_at} precision="minute" /> },
  { name: 'Clock', cell: (instance) => clockText(instance.skew_ms), className: 'nowrap' },
]

/** The processes that fire and execute, whether they live, and how well their clocks go. */
export function InstancesView() {
  const query = useQuery(instancesQuery())
  return (
    <>
      <PageHeader title="Instances" />
      <DataTable
        query={query}
        items={query.data ?? []}
        keyOf={(instance) => String(instance.instance_id)}
        columns={COLUMNS}
        empty={
          <EmptyState title="No instance has ever been here">
            <p>An instance fires schedules and runs what they start. One comes with the service, others can be added:</p>
            <pre className="raw">tompion worker --store postgresql://… --queue default</pre>
          </EmptyState>
        }
      />
    </>
  )
}

function InstanceState({ instance }: { instance: Instance }) {
  const skewed = useQuery(skewedInstancesQuery()).data?.has(instance.name)
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
