import type { Stats } from '../../api/types'
import { durationText } from '../../lib/format'
import { Axis } from './TimeAxis'
import classes from './Overview.module.css'

const LINES = [
  { of: 'late_most_ms', name: 'Latest', colour: 'var(--o-missed)', dots: true },
  { of: 'late_p99_ms', name: 'p99', colour: 'var(--o-running)', dots: false },
  { of: 'late_p50_ms', name: 'Median', colour: 'var(--o-success)', dots: false },
] as const

/** How late runs started, by the worst of them, by nearly all, and by half. */
export function Lateness({ stats }: { stats: Stats }) {
  const { stretches } = stats
  const values = stretches.flatMap((each) => LINES.map(({ of }) => each[of] ?? 0))
  if (!stretches.some((each) => each.late_p50_ms !== null)) return <p className={classes.calm}>No run has started in this time.</p>
  const most = Math.max(...values, 100)
  const x = (at: number) => (1_000 * at) / Math.max(1, stretches.length - 1)
  const y = (value: number) => 98 - (94 * value) / most
  const from = Date.parse(stretches[0]!.start)
  const until = Date.parse(stretches.at(-1)!.start)
  return (
    <>
      <div className={classes.scaled}>
        <div className={classes.chart}>
          <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={`Runs started at most ${durationText(Math.max(...values))} late`}>
            <line x1={0} x2={1_000} y1={51} y2={51} className={classes.half} />
            {LINES.map(({ of, colour, dots }) => (
              <g key={of} fill="none" stroke={colour} strokeLinecap="round" strokeWidth={dots ? 5 : 1.6}>
                {dots
                  ? stretches.map((each, at) => each[of] !== null && <path key={at} d={`M${x(at)},${y(each[of])}h0`} vectorEffect="non-scaling-stroke" />)
                  : pieces(stretches.map((each) => each[of])).map((piece) => (
                      <polyline key={piece[0]!.at} points={piece.map(({ at, value }) => `${x(at)},${y(value)}`).join(' ')} vectorEffect="non-scaling-stroke" />
                    ))}
              </g>
            ))}
          </svg>
          <span className={classes.most}>{durationText(most)}</span>
          <span className={classes.middle}>{durationText(most / 2)}</span>
        </div>
        <Axis from={from} until={until} />
      </div>
      <ul className={classes.legend}>
        {LINES.map(({ name, colour, of, dots }) => (
          <li key={of}>
            <i data-dot={dots} style={{ background: colour }} />
            {name}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Runs of values without a hole; a single one becomes a point. */
function pieces(values: (number | null)[]): { at: number; value: number }[][] {
  const found: { at: number; value: number }[][] = []
  values.forEach((value, at) => {
    if (value === null) return
    const last = found.at(-1)
    if (last && last.at(-1)!.at === at - 1) last.push({ at, value })
    else found.push([{ at, value }])
  })
  return found.map((piece) => (piece.length === 1 ? [piece[0]!, { at: piece[0]!.at + 0.05, value: piece[0]!.value }] : piece))
}
