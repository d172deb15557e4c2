import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { instancesQuery, skewedInstancesQuery } from '../../api/queries'
import type { Instance } from '../../api/types'
import { ErrorState, Loading } from '../../components/states'
import { RelativeTime } from '../../components/Timestamp'
import { clockText } from '../../lib/format'
import { codeText, rich, t } from '../../messages'
import classes from './Overview.module.css'

const MAX_SHOWN = 8

/** A short list of the running instances and those that became unreachable. */
export function InstanceList() {
  const query = useQuery(instancesQuery())
  const skewed = useQuery(skewedInstancesQuery()).data
  if (query.isPending) return <Loading lines={3} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const instances = query.data
    .filter((instance) => instance.alive || !instance.stopped_at)
    .sort((one, other) => Number(one.alive) - Number(other.alive))
  const isAnyAlive = instances.some((instance) => instance.alive)
  if (instances.length === 0) return <p className={classes.empty}>{t('instances.noEngine')}</p>
  return (
    <>
      {!isAnyAlive && <p className={classes.empty}>{t('instances.noEngine')}</p>}
      {instances.slice(0, MAX_SHOWN).map((instance) => (
        <div key={instance.instance_id} className={classes.instance}>
          <i data-alive={instance.alive && !skewed?.has(instance.name)} />
          <span>
            {instance.name}
            <span className={classes.about}>
              {[
                codeText('instanceKind', instance.kind),
                instance.release,
                t('instances.clock', { state: clockText(instance.skew_ms) }),
              ]
                .filter(Boolean)
                .join(' · ')}
            </span>
          </span>
          <span className="dim nowrap">
            <LastHeartbeat instance={instance} isSkewed={skewed?.has(instance.name) ?? false} />
          </span>
        </div>
      ))}
      <Link to="/instances" className="text-link">
        {t('instances.all')}
      </Link>
    </>
  )
}

function LastHeartbeat({ instance, isSkewed }: { instance: Instance; isSkewed: boolean }) {
  const at = <RelativeTime at={instance.last_heartbeat_at} />
  if (!instance.alive)
    return rich('instances.unreachableAt', { unreachable: <strong>{t('instances.unreachable')}</strong>, at })
  if (isSkewed) return rich('instances.clockSkewAt', { skew: <strong>{t('instances.clockSkew')}</strong>, at })
  return rich('instances.heartbeatAt', { at })
}
