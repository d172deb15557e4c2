import type { Load, Stats } from '../../api/types'
import { useNow } from '../../lib/clock'
import { countText } from '../../lib/format'
import { Axis } from './TimeAxis'
import classes from './Overview.module.css'

const PAST = [
  { name: 'Succeeded', of: 'succeeded', kind: 'success' },
  { name: 'Failed', of: 'failed', kind: 'failed' },
  { name: 'Open', of: 'open', kind: 'running' },
  { name: 'Missed', of: 'missed', kind: 'missed' },
  { name: 'Skipped', of: 'skipped', kind: 'skipped' },
  { name: 'Ended', of: 'ended', kind: 'ended' },
] as const

interface Bar {
  at: number
  parts: { size: number; kind: string }[]
  told: string
}

function bars(stats: Stats, ahead: Load[]): Bar[] {
  const past = stats.stretches.map((each) => ({
    at: Date.parse(each.start),
    parts: PAST.map(({ of, kind }) => ({ size: each[of], kind })).filter((part) => part.size > 0),
    told: PAST.filter(({ of }) => each[of] > 0).map(({ of, name }) => `${each[of]} ${name.toLowerCase()}`).join(', '),
  }))
  const coming = ahead.map((each) => ({
    at: Date.parse(each.start),
    parts: each.fires > 0 ? [{ size: each.fires, kind: 'coming' }] : [],
    told: each.fires > 0 ? countText(each.fires, 'fire to come', 'fires to come') : '',
  }))
  return [...past, ...coming]
}

/** What became of ticks on the left of the line, what is to fire on its right as soon as it is known. */
export function Timeline({ stats, ahead, seconds }: { stats: Stats; ahead: Load[] | undefined; seconds: number }) {
  const now = useNow()
  const [from, until] = [now - seconds * 1_000, now + seconds * 1_000]
  const found = bars(stats, ahead ?? [])
  const width = (seconds * 1_000) / stats.stretches.length
  const most = Math.max(1, ...found.map((bar) => bar.parts.reduce((total, part) => total + part.size, 0)))
  const total = ahead?.reduce((sum, each) => sum + each.fires, 0)
  return (
    <>
      <div className={classes.chart}>
        <svg
          viewBox={`0 0 1000 100`}
          preserveAspectRatio="none"
          role="img"
          aria-label={total === undefined ? 'What is to come is being counted' : `${countText(total, 'fire')} to come; at most ${most} in one stretch`}
        >
          {found.map((bar, number) => {
            let top = 100
            return (
              <g key={number}>
                {bar.parts.map((part) => {
                  const height = (96 * part.size) / most
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
                      <title>{bar.told}</title>
                    </rect>
                  )
                })}
              </g>
            )
          })}
        </svg>
        <span className={classes.now} style={{ left: '50%' }} />
        <span className={classes.most}>{most.toLocaleString('en-GB')}</span>
        {!ahead && <span className={classes.counting}>counting what is to come …</span>}
      </div>
      <Axis from={from} until={until} steps={8} />
      <ul className={classes.legend}>
        {PAST.filter(({ of }) => stats.stretches.some((each) => each[of] > 0)).map(({ name, kind }) => (
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
          <i style={{ background: 'var(--f-brass)' }} />
          Now
        </li>
      </ul>
    </>
  )
}
