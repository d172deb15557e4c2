import { timeText } from '../../parts/format'
import { useZoneChoice, zoneFor } from '../../parts/zones'
import classes from './Overview.module.css'

/** The times of day below a chart. */
export function Axis({ from, until, steps = 6 }: { from: number; until: number; steps?: number }) {
  const zone = zoneFor(useZoneChoice())
  return (
    <div className={classes.axis} aria-hidden="true">
      {Array.from({ length: steps + 1 }, (_, at) => (
        <span key={at} style={{ left: `${(100 * at) / steps}%` }} data-edge={at === 0 ? 'start' : at === steps ? 'end' : undefined}>
          {timeText(from + ((until - from) * at) / steps, zone, 'minute')}
        </span>
      ))}
    </div>
  )
}
