import { useMemo, useState } from 'react'
import type { Forecast } from '../../api/types'
import { instantText, timeText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import { numberText, t } from '../../messages'
import classes from './Overview.module.css'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const LABELLED_MINUTES = [0, 10, 20, 30, 40, 50]

function cellColour(share: number): string {
  if (share > 0.66)
    return `color-mix(in srgb, var(--t-brass) ${Math.round((100 * (share - 0.4)) / 0.6)}%, var(--t-accent))`
  return `color-mix(in srgb, var(--t-accent) ${Math.round(18 + 110 * share)}%, var(--t-sunken))`
}

/** The number of upcoming runs per minute: one row per hour, one cell per minute. */
export function HeatMap({ forecast }: { forecast: Forecast }) {
  const zone = displayZone(useZoneChoice())
  const [hoveredAt, setHoveredAt] = useState<number | null>(null)
  const cells = useMemo(
    () =>
      forecast.buckets
        .filter((bucket) => bucket.fires > 0)
        .map((bucket) => [Date.parse(bucket.start), bucket.fires] as const),
    [forecast],
  )
  const first = Math.floor(Date.parse(forecast.buckets[0]?.start ?? '') / HOUR) * HOUR
  const rows = Math.ceil((Date.parse(forecast.buckets.at(-1)?.start ?? '') + 1 - first) / HOUR)
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
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is the hour at its index
            <span key={row}>{row % 2 === 0 && timeText(first + row * HOUR, zone, 'minute')}</span>
          ))}
        </div>
        <svg
          className={classes.cells}
          viewBox={`0 0 60 ${rows}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={
            peakCell
              ? t('heat.peak', { runs: t('heat.runs', { count: peak }), at: instantText(peakCell[0], zone, 'minute') })
              : t('heat.none')
          }
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
              {`:${String(minute).padStart(2, '0')}`}
            </span>
          ))}
        </div>
      </div>
      <p className={classes.note}>
        {hovered ? (
          t('heat.cell', { at: instantText(hovered[0], zone, 'minute'), runs: t('heat.runs', { count: hovered[1] }) })
        ) : (
          <>
            {numberText(1)} <span className={classes.scale} aria-hidden="true" /> {t('heat.scale', { count: peak })}
            {peakCell && t('heat.peakAt', { at: timeText(peakCell[0], zone, 'minute') })}
            {forecast.one_in > 1 && t('heat.sample', { percent: Number((100 / forecast.one_in).toPrecision(2)) })}
            {forecast.next_fire_only > 0 && t('heat.onlyNext', { count: forecast.next_fire_only })}
          </>
        )}
      </p>
    </>
  )
}
