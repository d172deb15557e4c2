import { Link } from '@tanstack/react-router'

import type { Load, Stats } from '../../api/types'
import { durationText } from '../../lib/format'
import classes from './Overview.module.css'

const many = (value: number | undefined, capped = false) => (value === undefined ? '–' : `${value.toLocaleString('en-GB')}${capped ? '+' : ''}`)

/** The state of everything in a line of numbers. */
export function Figures({ stats, ahead, name }: { stats: Stats | undefined; ahead: Load[] | undefined; name: string }) {
  const tally = stats?.schedules
  const short = name === 'hour' ? '1 h' : '24 h'
  const sum = (pick: (each: Stats['stretches'][number]) => number) => stats?.stretches.reduce((total, each) => total + pick(each), 0)
  const failed = sum((each) => each.failed)
  const missed = sum((each) => each.missed)
  const late = stats && Math.max(...stats.stretches.map((each) => each.late_p99_ms ?? -1))
  return (
    <div className={`panel ${classes.figures}`}>
      <Link to="/schedules" search={{ state: 'active' }} className={classes.figure}>
        <div className={classes.name}>Active</div>
        <div className={classes.value}>{many(tally?.active, tally?.capped)}</div>
      </Link>
      <Link to="/schedules" search={{ state: 'paused' }} className={classes.figure}>
        <div className={classes.name}>Paused</div>
        <div className={classes.value}>{many(tally?.paused)}</div>
      </Link>
      <Figure name="In flight" value={many(tally?.in_flight)} />
      <Figure name="Waiting" value={many(tally?.waiting)} />
      <Figure name={`To fire, ${short}`} value={many(ahead?.reduce((total, each) => total + each.fires, 0))} />
      <Figure name={`Succeeded, ${short}`} value={many(sum((each) => each.succeeded))} />
      <Link to="/runs" search={{ state: 'FAILED' }} className={classes.figure}>
        <div className={classes.name}>Failed, {short}</div>
        <div className={classes.value} data-bad={Boolean(failed)}>
          {many(failed)}
        </div>
      </Link>
      <Figure name={`Missed, ${short}`} value={many(missed)} warn={Boolean(missed)} />
      <Figure name="Late (p99)" value={late === undefined || late < 0 ? '–' : durationText(late)} warn={(late ?? 0) > 5_000} />
    </div>
  )
}

function Figure({ name, value, warn }: { name: string; value: string; warn?: boolean }) {
  return (
    <div className={classes.figure}>
      <div className={classes.name}>{name}</div>
      <div className={classes.value} data-warn={warn}>
        {value}
      </div>
    </div>
  )
}
