import type { LoadBucket, Stats } from '../../api/types'
import { useNow } from '../../lib/clock'
import { countText } from '../../lib/format'
import { TimeAxis } from './TimeAxis'
import classes from './Overview.module.css'

const OUTCOMES = [
  { name: 'Succeeded', field: 'succeeded', kind: 'success' },
  { name: 'Failed', field: 'failed', kind: 'failed' },
  { name: 'Open', field: 'open', kind: 'running' },
  { name: 'Missed', field: 'missed', kind: 'missed' },
  { name: 'Skipped', field: 'skipped', kind: 'skipped' },
  { name: 'Ended', field: 'ended', kind: 'ended' },
] as const

interface Bar {
  at: number
  parts: { size: number; kind: string }[]
  label: string
}

function toBars(stats: Stats, upcoming: LoadBucket[]): Bar[] {
  const past = stats.stretches.map((bucket) => ({
    at: Date.parse(bucket.start),
    parts: OUTCOMES.map(({ field, kind }) => ({ size: bucket[field], kind })).filter((part) => part.size > 0),
    label: OUTCOMES.filter(({ field }) => bucket[field] > 0).map(({ field, name }) => `${bucket[field]} ${name.toLowerCase()}`).join(', '),
  }))
  const upcomingBars = upcoming.map((bucket) => ({
    at: Date.parse(bucket.start),
    parts: bucket.fires > 0 ? [{ size: bucket.fires, kind: 'coming' }] : [],
    label: bucket.fires > 0 ? countText(bucket.fires, 'fire to come', 'fires to come') : '',
  }))
  return [...past, ...upcomingBars]
}

/** What became of ticks on the left of the line, what is to fire on its right as soon as it is known. */
export function ActivityChart({ stats, upcoming, seconds }: { stats: Stats; upcoming: LoadBucket[] | undefined; seconds: number }) {
  const now = useNow()
  const [from, until] = [now - seconds * 1_000, now + seconds * 1_000]
  const chartBars = toBars(stats, upcoming ?? [])
  const width = (seconds * 1_000) / stats.stretches.length
  const maxCount = Math.max(1, ...chartBars.map((bar) => bar.parts.reduce((total, part) => total + part.size, 0)))
  const total = upcoming?.reduce((sum, bucket) => sum + bucket.fires, 0)
  return (
    <>
      <div className={classes.chart}>
        <svg
          viewBox={`0 0 1000 100`}
          preserveAspectRatio="none"
          role="img"
          aria-label={total === undefined ? 'What is to come is being counted' : `${countText(total, 'fire')} to come; at most ${maxCount} in one stretch`}
        >
          {chartBars.map((bar, number) => {
            let top = 100
            return (
              <g key={number}>
                {bar.parts.map((part) => {
                  const height = (96 * part.size) / maxCount
                  top -= height
                  return (
                    <rect
                      key={part.kind}
                      x={(1_000 * (bar.at - from)) / (until - from)}
                      width={Math.max(1, (820 * width) / (until - from))}
                      y={top}
                      height={height}
                      className={part.kind === 'coming' ? classes.coming : undefined}
                      fill={part.kind === 'coming' ? undefined : `var(--o-${part.kind})`}
                    >
                      <title>{bar.label}</title>
                    </rect>
                  )
                })}
              </g>
            )
          })}
        </svg>
        <span className={classes.now} style={{ left: '50%' }} />
        <span className={classes.most}>{maxCount.toLocaleString('en-GB')}</span>
        {!upcoming && <span className={classes.counting}>counting what is to come …</span>}
      </div>
      <TimeAxis from={from} until={until} steps={8} />
      <ul className={classes.legend}>
        {OUTCOMES.filter(({ field }) => stats.stretches.some((bucket) => bucket[field] > 0)).map(({ name, kind }) => (
          <li key={kind}>
            <i style={{ background: `var(--o-${kind})` }} />
            {name}
          </li>
        ))}
        <li>
          <i data-kind="coming" />
          To come
        </li>
        <li>
          <i style={{ background: 'var(--t-brass)' }} />
          Now
        </li>
      </ul>
    </>
  )
}
