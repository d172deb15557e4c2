import type { LoadBucket, Stats } from '../../api/types'
import { useNow } from '../../lib/clock'
import { numberText, t } from '../../messages'
import classes from './Overview.module.css'
import { TimeAxis } from './TimeAxis'

const OUTCOMES = [
  { name: 'activity.succeeded', field: 'succeeded', kind: 'success' },
  { name: 'activity.failed', field: 'failed', kind: 'failed' },
  { name: 'activity.open', field: 'open', kind: 'running' },
  { name: 'activity.missed', field: 'missed', kind: 'missed' },
  { name: 'activity.skipped', field: 'skipped', kind: 'skipped' },
  { name: 'activity.ended', field: 'ended', kind: 'ended' },
] as const

interface Bar {
  at: number
  parts: { size: number; kind: string }[]
  label: string
}

function toBars(stats: Stats, upcoming: LoadBucket[]): Bar[] {
  const past = stats.buckets.map((bucket) => ({
    at: Date.parse(bucket.start),
    parts: OUTCOMES.map(({ field, kind }) => ({ size: bucket[field], kind })).filter((part) => part.size > 0),
    label: OUTCOMES.filter(({ field }) => bucket[field] > 0)
      .map(({ field, name }) => t('activity.bar', { count: bucket[field], outcome: t(name).toLowerCase() }))
      .join(', '),
  }))
  const upcomingBars = upcoming.map((bucket) => ({
    at: Date.parse(bucket.start),
    parts: bucket.fires > 0 ? [{ size: bucket.fires, kind: 'upcoming' }] : [],
    label: bucket.fires > 0 ? t('activity.upcomingBar', { count: bucket.fires }) : '',
  }))
  return [...past, ...upcomingBars]
}

/** A bar chart of past runs on the left of now and upcoming runs on its right. */
export function ActivityChart({
  stats,
  upcoming,
  seconds,
}: {
  stats: Stats
  upcoming: LoadBucket[] | undefined
  seconds: number
}) {
  const now = useNow()
  const [from, until] = [now - seconds * 1_000, now + seconds * 1_000]
  const chartBars = toBars(stats, upcoming ?? [])
  const width = (seconds * 1_000) / stats.buckets.length
  const maxCount = Math.max(1, ...chartBars.map((bar) => bar.parts.reduce((total, part) => total + part.size, 0)))
  const total = upcoming?.reduce((sum, bucket) => sum + bucket.fires, 0)
  return (
    <>
      <div className={classes.chart}>
        <svg
          viewBox="0 0 1000 100"
          preserveAspectRatio="none"
          role="img"
          aria-label={
            total === undefined ? t('activity.loading') : t('activity.summary', { count: total, peak: maxCount })
          }
        >
          {chartBars.map((bar) => {
            let top = 100
            return (
              <g key={bar.at}>
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
                      className={part.kind === 'upcoming' ? classes.upcoming : undefined}
                      fill={part.kind === 'upcoming' ? undefined : `var(--o-${part.kind})`}
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
        <span className={classes.max}>{numberText(maxCount)}</span>
        {!upcoming && <span className={classes.counting}>{t('activity.loadingShort')}</span>}
      </div>
      <TimeAxis from={from} until={until} steps={8} />
      <ul className={classes.legend}>
        {OUTCOMES.filter(({ field }) => stats.buckets.some((bucket) => bucket[field] > 0)).map(({ name, kind }) => (
          <li key={kind}>
            <i style={{ background: `var(--o-${kind})` }} />
            {t(name)}
          </li>
        ))}
        <li>
          <i data-kind="upcoming" />
          {t('activity.upcoming')}
        </li>
        <li>
          <i style={{ background: 'var(--t-brass)' }} />
          {t('common.now')}
        </li>
      </ul>
    </>
  )
}
