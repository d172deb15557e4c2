import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { instancesQuery, skewedInstancesQuery } from '../../api/queries'
import { clockText } from '../../lib/format'
import { RelativeTime } from '../../components/Timestamp'
import { Loading, ErrorState } from '../../components/states'
import classes from './Overview.module.css'

const MAX_SHOWN = 8

/** The processes that are there, and those that went without a word, in short. */
export function InstanceList() {
  const query = useQuery(instancesQuery())
  const skewed = useQuery(skewedInstancesQuery()).data
  if (query.isPending) return <Loading lines={3} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const instances = query.data.filter((instance) => instance.alive || !instance.stopped_at).sort((one, other) => Number(one.alive) - Number(other.alive))
  const isAnyAlive = instances.some((instance) => instance.alive)
  if (instances.length === 0) return <p className={classes.calm}>Nobody is there: nothing fires until an engine is started.</p>
  return (
    <>
      {!isAnyAlive && <p className={classes.calm}>Nobody is there: nothing fires until an engine is started.</p>}
      {instances.slice(0, MAX_SHOWN).map((instance) => (
        <div key={instance.instance_id} className={classes.instance}>
          <i data-alive={instance.alive && !skewed?.has(instance.name)} />
          <span>
            {instance.name}
            <span className={classes.about}>
              {[instance.kind, instance.release, `clock ${clockText(instance.skew_ms)}`].filter(Boolean).join(' · ')}
            </span>
          </span>
          <span className="dim nowrap">
            {skewed?.has(instance.name) ? <strong>clock is off,</strong> : null} {instance.alive ? 'heard' : <strong>lost</strong>} <RelativeTime at={instance.heard_of_at} />
          </span>
        </div>
      ))}
      <Link to="/instances" className="text-link">
        All instances
      </Link>
    </>
  )
}
