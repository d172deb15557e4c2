import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'

import type { Coming } from '../../api/types'
import { useNow } from '../../lib/clock'
import { timeText } from '../../lib/format'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import { Axis } from './TimeAxis'
import classes from './Overview.module.css'

const LANES = 10

/** The schedules that fire next, each with its ticks on the way to the now-line, as far as all of them have been read. */
export function Lanes({ coming: { ticks, complete_until: read }, seconds, name }: { coming: Coming; seconds: number; name: string }) {
  const now = useNow()
  const zone = zoneFor(useZoneChoice())
  const lanes = useMemo(() => {
    const found = new Map<string, number[]>()
    for (const tick of ticks) {
      const fires = found.get(tick.schedule_id) ?? (found.size < LANES ? [] : undefined)
      if (!fires) continue
      found.set(tick.schedule_id, fires)
      fires.push(Date.parse(tick.fire_at))
    }
    return [...found]
  }, [ticks])
  if (lanes.length === 0) return <p className={classes.calm}>Nothing is to fire within the next {name}.</p>
  const until = Math.max(now + 60_000, Math.min(now + seconds * 1_000, Date.parse(read)))
  return (
    <div className={classes.lanes}>
      <h2>Next to fire</h2>
      {lanes.map(([id, fires]) => (
        <div key={id} className={classes.lane}>
          <Link to="/schedules/$id" params={{ id }} title={id}>
            {id}
          </Link>
          <div className={classes.track}>
            {fires
              .filter((at) => at > now && at <= until)
              .map((at) => (
                <i key={at} style={{ left: `${(100 * (at - now)) / (until - now)}%` }} title={timeText(at, zone)} />
              ))}
          </div>
        </div>
      ))}
      <div className={classes.lane}>
        <span />
        <Axis from={now} until={until} />
      </div>
    </div>
  )
}
