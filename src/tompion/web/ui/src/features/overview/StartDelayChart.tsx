import type { Stats } from '../../api/types'
import { durationText } from '../../lib/format'
import { t } from '../../messages'
import classes from './Overview.module.css'
import { TimeAxis } from './TimeAxis'

const SERIES = [
  { field: 'late_max_ms', name: 'delay.max', colour: 'var(--o-missed)', isDotted: true },
  { field: 'late_p99_ms', name: 'delay.p99', colour: 'var(--o-running)', isDotted: false },
  { field: 'late_p50_ms', name: 'delay.p50', colour: 'var(--o-success)', isDotted: false },
] as const

/** The delay between due time and start of runs: maximum, 99th percentile and median. */
export function StartDelayChart({ stats }: { stats: Stats }) {
  const { buckets } = stats
  const values = buckets.flatMap((bucket) => SERIES.map(({ field }) => bucket[field] ?? 0))
  if (!buckets.some((bucket) => bucket.late_p50_ms !== null)) return <p className={classes.empty}>{t('delay.none')}</p>
  const maxValue = Math.max(...values, 100)
  const x = (at: number) => (1_000 * at) / Math.max(1, buckets.length - 1)
  const y = (value: number) => 98 - (94 * value) / maxValue
  const from = Date.parse(buckets[0]!.start)
  const until = Date.parse(buckets.at(-1)!.start)
  return (
    <>
      <div className={classes.scaled}>
        <div className={classes.chart}>
          <svg
            viewBox="0 0 1000 100"
            preserveAspectRatio="none"
            role="img"
            aria-label={t('delay.summary', { duration: durationText(Math.max(...values)) })}
          >
            <line x1={0} x2={1_000} y1={51} y2={51} className={classes.half} />
            {SERIES.map(({ field, colour, isDotted }) => (
              <g key={field} fill="none" stroke={colour} strokeLinecap="round" strokeWidth={isDotted ? 5 : 1.6}>
                {isDotted
                  ? buckets.map(
                      (bucket, at) =>
                        bucket[field] !== null && (
                          <path
                            key={bucket.start}
                            d={`M${x(at)},${y(bucket[field])}h0`}
                            vectorEffect="non-scaling-stroke"
                          />
                        ),
                    )
                  : segmentsOf(buckets.map((bucket) => bucket[field])).map((segment) => (
                      <polyline
                        key={segment[0]!.at}
                        points={segment.map(({ at, value }) => `${x(at)},${y(value)}`).join(' ')}
                        vectorEffect="non-scaling-stroke"
                      />
                    ))}
              </g>
            ))}
          </svg>
          <span className={classes.max}>{durationText(maxValue)}</span>
          <span className={classes.middle}>{durationText(maxValue / 2)}</span>
        </div>
        <TimeAxis from={from} until={until} />
      </div>
      <ul className={classes.legend}>
        {SERIES.map(({ name, colour, field, isDotted }) => (
          <li key={field}>
            <i data-dot={isDotted} style={{ background: colour }} />
            {t(name)}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Split values into segments without gaps. A single value becomes a point. */
function segmentsOf(values: (number | null)[]): { at: number; value: number }[][] {
  const segments: { at: number; value: number }[][] = []
  values.forEach((value, at) => {
    if (value === null) return
    const last = segments.at(-1)
    if (last && last.at(-1)!.at === at - 1) last.push({ at, value })
    else segments.push([{ at, value }])
  })
  return segments.map((segment) =>
    segment.length === 1 ? [segment[0]!, { at: segment[0]!.at + 0.05, value: segment[0]!.value }] : segment,
  )
}
