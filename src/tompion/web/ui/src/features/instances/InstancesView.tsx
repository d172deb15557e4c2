import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { instancesQuery, skewedInstancesQuery } from '../../api/queries'
import type { Instance } from '../../api/types'
import { type Column, DataTable } from '../../components/DataTable'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState } from '../../components/states'
import { RelativeTime, Timestamp } from '../../components/Timestamp'
import { clockText, NO_VALUE } from '../../lib/format'
import { codeText, t } from '../../messages'

const WORKER_COMMAND = 'tompion worker --store postgresql://… --queue default'

const COLUMNS: Column<Instance>[] = [
  { name: t('common.name'), cell: (instance) => instance.name },
  { name: t('common.state'), cell: (instance) => <InstanceState instance={instance} /> },
  { name: t('instances.kind'), cell: (instance) => codeText('instanceKind', instance.kind) },
  { name: t('instances.queues'), cell: (instance) => instance.queues.join(', ') },
  { name: t('common.version'), cell: (instance) => instance.release || NO_VALUE },
  { name: t('instances.lastHeartbeat'), cell: (instance) => <RelativeTime at={instance.last_heartbeat_at} /> },
  { name: t('instances.started'), cell: (instance) => <Timestamp at={instance.started_at} precision="minute" /> },
  { name: t('instances.clockColumn'), cell: (instance) => clockText(instance.skew_ms), className: 'nowrap' },
]

/** The engines and workers, with their state and the skew of their clocks. */
export function InstancesView() {
  const query = useQuery(instancesQuery())
  return (
    <>
      <PageHeader title={t('nav.instances')} />
      <DataTable
        query={query}
        items={query.data ?? []}
        keyOf={(instance) => String(instance.instance_id)}
        columns={COLUMNS}
        empty={
          <EmptyState title={t('instances.none')}>
            <p>{t('instances.noneHelp')}</p>
            <pre className="raw">{WORKER_COMMAND}</pre>
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
      <Badge color="red" title={t('instances.clockSkewHelp')}>
        {t('instances.clockSkew')}
      </Badge>
    )
  if (instance.alive) return <Badge color="verdigris">{t('instances.healthy')}</Badge>
  if (instance.stopped_at) return <Badge color="gray">{t('instances.stopped')}</Badge>
  return <Badge color="red">{t('instances.unreachable')}</Badge>
}
