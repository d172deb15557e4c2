import { useMemo, useState } from 'react'

import type { Forecast } from '../../api/types'
import { countText, instantText, timeText } from '../../lib/format'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import classes from './Overview.module.css'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const MARKED = [0, 10, 20, 30, 40, 50]

function colour(share: number): string {
  if (share > 0.66) return `color-mix(in srgb, var(--f-brass) ${Math.round(100 * (share - 0.4) / 0.6)}%, var(--f-accent))`
  return `color-mix(in srgb, var(--f-accent) ${Math.round(18 + 110 * share)}%, var(--f-sunken))`
}

/** One row an hour, one cell a minute: where many fire at once. */
export function HeatMap({ forecast }: { forecast: Forecast }) {
  const zone = zoneFor(useZoneChoice())
  const [told, setTold] = useState<number | null>(null)
  const cells = useMemo(() => forecast.stretches.filter((each) => each.fires > 0).map((each) => [Date.parse(each.start), each.fires] as const), [forecast])
  const first = Math.floor(Date.parse(forecast.stretches[0]?.start ?? '') / HOUR) * HOUR
  const rows = Math.ceil((Date.parse(forecast.stretches.at(-1)?.start ?? '') + 1 - first) / HOUR)
  const most = Math.max(1, ...cells.map(([, fires]) => fires))
  const busiest = cells.find(([, fires]) => fires === most)
  const drawn = useMemo(
    () =>
      cells.map(([at, fires]) => (
        <rect
          key={at}
          x={((at - first) % HOUR) / MINUTE + 0.04}
          y={Math.floor((at - first) / HOUR) + 0.05}
          width={0.92}
          height={0.9}
          fill={colour(most === 1 ? 0.35 : Math.log1p(fires) / Math.log1p(most))}
          data-at={at}
        />
      )),
    [cells, first, most],
  )
  const shown = cells.find(([at]) => at === told)
  return (
    <>
      <div className={classes.heat}>
        <div className={classes.hours} aria-hidden="true">
          {Array.from({ length: rows }, (_, row) => (
            <span key={row}>{row % 2 === 0 && timeText(first + row * HOUR, zone, 'minute')}</span>
          ))}
        </div>
        <svg
          className={classes.cells}
          viewBox={`0 0 60 ${rows}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={busiest ? `The busiest minute is ${instantText(busiest[0], zone, 'minute')}, with ${countText(most, 'fire')}` : 'Nothing fires'}
          onPointerMove={(event) => {
            const at = (event.target as SVGElement).getAttribute('data-at')
            setTold(at ? Number(at) : null)
          }}
          onPointerLeave={() => setTold(null)}
        >
          {drawn}
        </svg>
        <span />
        <div className={classes.axis} aria-hidden="true">
          {MARKED.map((minute) => (
            <span key={minute} style={{ left: `${(100 * minute) / 60}%` }} data-edge="start">
              :{String(minute).padStart(2, '0')}
            </span>
          ))}
        </div>
      </div>
      <p className={classes.told}>
        {shown ? (
          `${instantText(shown[0], zone, 'minute')}: ${countText(shown[1], 'fire')}`
        ) : (
          <>
            1 <span className={classes.scale} aria-hidden="true" /> {most.toLocaleString('en-GB')} a minute
            {busiest && ` · busiest at ${timeText(busiest[0], zone, 'minute')}`}
            {forecast.one_in > 1 && ` · estimated from one schedule in ${forecast.one_in}`}
            {forecast.others > 0 && ` · of ${countText(forecast.others, 'schedule')} only the next fire is known`}
          </>
        )}
      </p>
    </>
  )
}
