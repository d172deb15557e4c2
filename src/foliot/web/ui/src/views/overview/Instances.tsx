import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { instancesQuery } from '../../api/queries'
import { Relative } from '../../parts/Moment'
import { Waiting, Wrong } from '../../parts/notes'
import classes from './Overview.module.css'

const SHOWN = 8

/** The processes that are there, in short. */
export function Instances() {
  const found = useQuery(instancesQuery())
  if (found.isPending) return <Waiting lines={3} />
  if (found.isError) return <Wrong error={found.error} onRetry={() => void found.refetch()} />
  const alive = found.data.filter((each) => each.alive)
  if (alive.length === 0) return <p className={classes.calm}>Nobody is there: nothing fires until an engine is started.</p>
  return (
    <>
      {alive.slice(0, SHOWN).map((each) => (
        <div key={each.instance_id} className={classes.instance}>
          <i data-alive={each.alive} />
          <span>{each.name}</span>
          <span className="dim">{each.kind}</span>
          <span className="dim">
            heard <Relative at={each.heard_of_at} />
          </span>
        </div>
      ))}
      <Link to="/instances" className="text-link">
        All instances
      </Link>
    </>
  )
}
