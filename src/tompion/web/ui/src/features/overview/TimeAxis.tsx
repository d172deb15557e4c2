import { timeText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import classes from './Overview.module.css'

const MINUTE = 60_000
const STEPS = [5, 10, 15, 30, 60, 120, 180, 240, 360, 720]

/** The time axis below a chart, with round times of day. */
export function TimeAxis({ from, until, steps = 6 }: { from: number; until: number; steps?: number }) {
  const zone = displayZone(useZoneChoice())
  const step = STEPS.find((value) => (until - from) / (value * MINUTE) <= steps) ?? STEPS.at(-1)!
  const firstMinute = Math.ceil(from / MINUTE) * MINUTE
  const [hour = 0, minute = 0] = timeText(firstMinute, zone, 'minute').split(':').map(Number)
  const first = firstMinute + ((step - ((hour * 60 + minute) % step)) % step) * MINUTE
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
