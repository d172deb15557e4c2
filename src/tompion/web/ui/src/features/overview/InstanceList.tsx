import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { instancesQuery, skewedQuery } from '../../api/queries'
import { clockText } from '../../lib/format'
import { Relative } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import classes from './Overview.module.css'

const SHOWN = 8

/** The processes that are there, and those that went without a word, in short. */
export function Instances() {
  const found = useQuery(instancesQuery())
  const skewed = useQuery(skewedQuery()).data
  if (found.isPending) return <Waiting lines={3} />
  if (found.isError) return <Wrong error={found.error} onRetry={() => void found.refetch()} />
  const shown = found.data.filter((each) => each.alive || !each.stopped_at).sort((one, other) => Number(one.alive) - Number(other.alive))
  const alive = shown.some((each) => each.alive)
  if (shown.length === 0) return <p className={classes.calm}>Nobody is there: nothing fires until an engine is started.</p>
  return (
    <>
      {!alive && <p className={classes.calm}>Nobody is there: nothing fires until an engine is started.</p>}
      {shown.slice(0, SHOWN).map((each) => (
        <div key={each.instance_id} className={classes.instance}>
          <i data-alive={each.alive && !skewed?.has(each.name)} />
          <span>
            {each.name}
            <span className={classes.about}>
              {[each.kind, each.release, `clock ${clockText(each.skew_ms)}`].filter(Boolean).join(' · ')}
            </span>
          </span>
          <span className="dim nowrap">
            {skewed?.has(each.name) ? <strong>clock is off,</strong> : null} {each.alive ? 'heard' : <strong>lost</strong>} <Relative at={each.heard_of_at} />
          </span>
        </div>
      ))}
      <Link to="/instances" className="text-link">
        All instances
      </Link>
    </>
  )
}
