import { timeText } from '../../lib/format'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import classes from './Overview.module.css'

const MINUTE = 60_000
const STEPS = [5, 10, 15, 30, 60, 120, 180, 240, 360, 720]

/** Round times of day below a chart. */
export function Axis({ from, until, steps = 6 }: { from: number; until: number; steps?: number }) {
  const zone = zoneFor(useZoneChoice())
  const step = STEPS.find((each) => (until - from) / (each * MINUTE) <= steps) ?? STEPS.at(-1)!
  const begin = Math.ceil(from / MINUTE) * MINUTE
  const [hour = 0, minute = 0] = timeText(begin, zone, 'minute').split(':').map(Number)
  const first = begin + ((step - ((hour * 60 + minute) % step)) % step) * MINUTE
  const count = Math.floor((until - first) / (step * MINUTE)) + 1
  return (
    <div className={classes.axis} aria-hidden="true">
      {Array.from({ length: count }, (_, at) => first + at * step * MINUTE).map((at) => {
        const left = (100 * (at - from)) / (until - from)
        return (
          <span key={at} style={{ left: `${left}%` }} data-edge={left < 2 ? 'start' : left > 98 ? 'end' : undefined}>
            {timeText(at, zone, 'minute')}
          </span>
        )
      })}
    </div>
  )
}
