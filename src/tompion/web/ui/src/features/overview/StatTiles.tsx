import { Link } from '@tanstack/react-router'

import type { LoadBucket, Stats } from '../../api/types'
import { durationText } from '../../lib/format'
import classes from './Overview.module.css'

const formatCount = (value: number | undefined, isCapped = false) => (value === undefined ? '–' : `${value.toLocaleString('en-GB')}${isCapped ? '+' : ''}`)

/** The state of everything in a line of numbers. */
export function StatTiles({ stats, upcoming, name }: { stats: Stats | undefined; upcoming: LoadBucket[] | undefined; name: string }) {
  const counts = stats?.schedules
  const range = name === 'hour' ? '1 h' : '24 h'
  const sumOf = (select: (bucket: Stats['stretches'][number]) => number) => stats?.stretches.reduce((total, bucket) => total + select(bucket), 0)
  const failed = sumOf((bucket) => bucket.failed)
  const missed = sumOf((bucket) => bucket.missed)
  const maxDelay = stats && Math.max(...stats.stretches.map((bucket) => bucket.late_p99_ms ?? -1))
  return (
    <div className={`panel ${classes.figures}`}>
      <Link to="/schedules" search={{ state: 'active' }} className={classes.figure}>
        <div className={classes.name}>Active</div>
        <div className={classes.value}>{formatCount(counts?.active, counts?.capped)}</div>
      </Link>
      <Link to="/schedules" search={{ state: 'paused' }} className={classes.figure}>
        <div className={classes.name}>Paused</div>
        <div className={classes.value}>{formatCount(counts?.paused)}</div>
      </Link>
      <StatTile name="In flight" value={formatCount(counts?.in_flight)} />
      <StatTile name="Waiting" value={formatCount(counts?.waiting)} />
      <StatTile name={`To fire, ${range}`} value={formatCount(upcoming?.reduce((total, bucket) => total + bucket.fires, 0))} />
      <StatTile name={`Succeeded, ${range}`} value={formatCount(sumOf((bucket) => bucket.succeeded))} />
      <Link to="/runs" search={{ state: 'FAILED' }} className={classes.figure}>
        <div className={classes.name}>Failed, {range}</div>
        <div className={classes.value} data-bad={Boolean(failed)}>
          {formatCount(failed)}
        </div>
      </Link>
      <StatTile name={`Missed, ${range}`} value={formatCount(missed)} isWarning={Boolean(missed)} />
      <StatTile name="Late (p99)" value={maxDelay === undefined || maxDelay < 0 ? '–' : durationText(maxDelay)} isWarning={(maxDelay ?? 0) > 5_000} />
    </div>
  )
}

function StatTile({ name, value, isWarning }: { name: string; value: string; isWarning?: boolean }) {
  return (
    <div className={classes.figure}>
      <div className={classes.name}>{name}</div>
      <div className={classes.value} data-warn={isWarning}>
        {value}
      </div>
    </div>
  )
}
