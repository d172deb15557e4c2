import type { Stats } from '../../api/types'
import { durationText } from '../../parts/format'
import { Axis } from './Axis'
import classes from './Overview.module.css'

const LINES = [
  { of: 'late_most_ms', name: 'Latest', colour: 'var(--o-missed)' },
  { of: 'late_p99_ms', name: 'p99', colour: 'var(--o-running)' },
  { of: 'late_p50_ms', name: 'Median', colour: 'var(--o-success)' },
] as const

/** How late runs started, by the worst of them, by nearly all, and by half. */
export function Lateness({ stats }: { stats: Stats }) {
  const { stretches } = stats
  const values = stretches.flatMap((each) => LINES.map(({ of }) => each[of] ?? 0))
  if (!stretches.some((each) => each.late_p50_ms !== null)) return <p className={classes.calm}>No run has started in this time.</p>
  const most = Math.max(...values, 100)
  const from = Date.parse(stretches[0]!.start)
  const until = Date.parse(stretches.at(-1)!.start)
  return (
    <>
      <div className={classes.chart}>
        <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={`Runs started at most ${durationText(Math.max(...values))} late`}>
          {LINES.map(({ of, colour }) => (
            <g key={of}>
              {pieces(stretches.map((each) => each[of])).map((piece) => (
                <polyline
                  key={piece[0]!.at}
                  points={piece.map(({ at, value }) => `${(1_000 * at) / Math.max(1, stretches.length - 1)},${98 - (94 * value) / most}`).join(' ')}
                  fill="none"
                  stroke={colour}
                  strokeWidth={1.6}
                  strokeLinecap="round"
                  vectorEffect="non-scaling-stroke"
                />
              ))}
            </g>
          ))}
        </svg>
        <span className={classes.most}>{durationText(most)}</span>
      </div>
      <Axis from={from} until={until} />
      <ul className={classes.legend}>
        {LINES.map(({ name, colour, of }) => (
          <li key={of}>
            <i style={{ background: colour }} />
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
