import { useMemo, useState } from 'react'

import type { Forecast } from '../../api/types'
import { countText, instantText, timeText } from '../../lib/format'
import { useZoneChoice, displayZone } from '../../lib/timezones'
import classes from './Overview.module.css'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const LABELLED_MINUTES = [0, 10, 20, 30, 40, 50]

function cellColour(share: number): string {
  if (share > 0.66) return `color-mix(in srgb, var(--t-brass) ${Math.round(100 * (share - 0.4) / 0.6)}%, var(--t-accent))`
  return `color-mix(in srgb, var(--t-accent) ${Math.round(18 + 110 * share)}%, var(--t-sunken))`
}

/** One row an hour, one cell a minute: where many fire at once. */
export function HeatMap({ forecast }: { forecast: Forecast }) {
  const zone = displayZone(useZoneChoice())
  const [hoveredAt, setHoveredAt] = useState<number | null>(null)
  const cells = useMemo(() => forecast.stretches.filter((bucket) => bucket.fires > 0).map((bucket) => [Date.parse(bucket.start), bucket.fires] as const), [forecast])
  const first = Math.floor(Date.parse(forecast.stretches[0]?.start ?? '') / HOUR) * HOUR
  const rows = Math.ceil((Date.parse(forecast.stretches.at(-1)?.start ?? '') + 1 - first) / HOUR)
  const peak = Math.max(1, ...cells.map(([, fires]) => fires))
  const peakCell = cells.find(([, fires]) => fires === peak)
  const rects = useMemo(
    () =>
      cells.map(([at, fires]) => (
        <rect
          key={at}
          x={((at - first) % HOUR) / MINUTE + 0.04}
          y={Math.floor((at - first) / HOUR) + 0.05}
          width={0.92}
          height={0.9}
          fill={cellColour(peak === 1 ? 0.35 : Math.log1p(fires) / Math.log1p(peak))}
          data-at={at}
        />
      )),
    [cells, first, peak],
  )
  const hovered = cells.find(([at]) => at === hoveredAt)
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
          aria-label={peakCell ? `The busiest minute is ${instantText(peakCell[0], zone, 'minute')}, with ${countText(peak, 'fire')}` : 'Nothing fires'}
          onPointerMove={(event) => {
            const at = (event.target as SVGElement).getAttribute('data-at')
            setHoveredAt(at ? Number(at) : null)
          }}
          onPointerLeave={() => setHoveredAt(null)}
        >
          {rects}
        </svg>
        <span />
        <div className={classes.axis} aria-hidden="true">
          {LABELLED_MINUTES.map((minute) => (
            <span key={minute} style={{ left: `${(100 * minute) / 60}%` }} data-edge="start">
              :{String(minute).padStart(2, '0')}
            </span>
          ))}
        </div>
      </div>
      <p className={classes.told}>
        {hovered ? (
          `${instantText(hovered[0], zone, 'minute')}: ${countText(hovered[1], 'fire')}`
        ) : (
          <>
            1 <span className={classes.scale} aria-hidden="true" /> {peak.toLocaleString('en-GB')} a minute
            {peakCell && ` · busiest at ${timeText(peakCell[0], zone, 'minute')}`}
            {forecast.one_in > 1 && ` · estimated from one schedule in ${forecast.one_in}`}
            {forecast.others > 0 && ` · of ${countText(forecast.others, 'schedule')} only the next fire is known`}
          </>
        )}
      </p>
    </>
  )
}
