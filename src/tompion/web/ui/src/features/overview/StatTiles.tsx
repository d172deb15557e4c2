import { Link } from '@tanstack/react-router'
import type { LoadBucket, Stats } from '../../api/types'
import { durationText, NO_VALUE } from '../../lib/format'
import { numberText, t } from '../../messages'
import classes from './Overview.module.css'

const formatCount = (value: number | undefined, isCapped = false) =>
  value === undefined ? NO_VALUE : isCapped ? t('schedules.capped', { count: value }) : numberText(value)

/** The key figures of the overview. */
export function StatTiles({
  stats,
  upcoming,
  range,
}: {
  stats: Stats | undefined
  upcoming: LoadBucket[] | undefined
  range: string
}) {
  const counts = stats?.schedules
  const sumOf = (select: (bucket: Stats['buckets'][number]) => number) =>
    stats?.buckets.reduce((total, bucket) => total + select(bucket), 0)
  const failed = sumOf((bucket) => bucket.failed)
  const missed = sumOf((bucket) => bucket.missed)
  const maxDelay = stats && Math.max(...stats.buckets.map((bucket) => bucket.late_p99_ms ?? -1))
  return (
    <div className={`panel ${classes.figures}`}>
      <Link to="/schedules" search={{ status: 'active' }} className={classes.figure}>
        <div className={classes.name}>{t('common.active')}</div>
        <div className={classes.value}>{formatCount(counts?.active, counts?.capped)}</div>
      </Link>
      <Link to="/schedules" search={{ status: 'paused' }} className={classes.figure}>
        <div className={classes.name}>{t('overview.paused')}</div>
        <div className={classes.value}>{formatCount(counts?.paused)}</div>
      </Link>
      <StatTile name={t('overview.running')} value={formatCount(counts?.in_flight)} />
      <StatTile name={t('overview.queued')} value={formatCount(counts?.waiting)} />
      <StatTile
        name={t('overview.upcoming', { range })}
        value={formatCount(upcoming?.reduce((total, bucket) => total + bucket.fires, 0))}
      />
      <StatTile name={t('overview.succeeded', { range })} value={formatCount(sumOf((bucket) => bucket.succeeded))} />
      <Link to="/runs" search={{ status: 'FAILED' }} className={classes.figure}>
        <div className={classes.name}>{t('overview.failed', { range })}</div>
        <div className={classes.value} data-bad={Boolean(failed)}>
          {formatCount(failed)}
        </div>
      </Link>
      <StatTile name={t('overview.missed', { range })} value={formatCount(missed)} isWarning={Boolean(missed)} />
      <StatTile
        name={t('overview.maxDelay')}
        value={maxDelay === undefined || maxDelay < 0 ? NO_VALUE : durationText(maxDelay)}
        isWarning={(maxDelay ?? 0) > 5_000}
      />
    </div>
  )
}

function StatTile({ name, value, isWarning }: { name: string; value: string; isWarning?: boolean }) {
  return (
    <div className={classes.figure}>
      <div className={classes.name}>{name}</div>
      <div className={classes.value} data-warn={isWarning}>
        {value}
      </div>
    </div>
  )
}
