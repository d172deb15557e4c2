import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { UpcomingRuns } from '../../api/types'
import { useNow } from '../../lib/clock'
import { timeText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import { t } from '../../messages'
import classes from './Overview.module.css'
import { TIME_RANGES } from './ranges'
import { TimeAxis } from './TimeAxis'

const MAX_LANES = 10

/** The schedules that run next, each as a lane with its upcoming runs. The axis ends where the loaded runs end. */
export function UpcomingLanes({
  upcoming: { ticks, complete_until: completeUntil },
  range,
}: {
  upcoming: UpcomingRuns
  range: keyof typeof TIME_RANGES
}) {
  const now = useNow()
  const zone = displayZone(useZoneChoice())
  const lanes = useMemo(() => {
    const bySchedule = new Map<string, number[]>()
    for (const tick of ticks) {
      const fires = bySchedule.get(tick.schedule_id) ?? (bySchedule.size < MAX_LANES ? [] : undefined)
      if (!fires) continue
      bySchedule.set(tick.schedule_id, fires)
      fires.push(Date.parse(tick.fire_at))
    }
    return [...bySchedule]
  }, [ticks])
  if (lanes.length === 0)
    return <p className={classes.empty}>{t(range === 'day' ? 'lanes.noneDay' : 'lanes.noneHour')}</p>
  const until = Math.max(now + 60_000, Math.min(now + TIME_RANGES[range].seconds * 1_000, Date.parse(completeUntil)))
  return (
    <div className={classes.lanes}>
      <h2>{t('lanes.title')}</h2>
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
        <TimeAxis from={now} until={until} />
      </div>
    </div>
  )
}
