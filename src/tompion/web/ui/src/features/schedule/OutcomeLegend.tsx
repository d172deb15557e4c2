import type { OutcomeKind } from '../../components/outcomes'
import classes from './OutcomeLegend.module.css'

/** In this order outcomes are drawn. */
export const ORDER: OutcomeKind[] = ['failed', 'missed', 'success', 'running', 'waiting', 'ended', 'skipped', 'coming']

export const WORDS: Record<OutcomeKind, string> = {
  success: 'succeeded',
  failed: 'failed',
  running: 'running',
  waiting: 'waiting',
  skipped: 'skipped',
  missed: 'missed',
  ended: 'ended',
  coming: 'to come',
}

/** Which colour means what. */
export function Legend({ kinds = ORDER }: { kinds?: OutcomeKind[] }) {
  return (
    <div className={classes.legend} role="group" aria-label="Colours">
      {kinds.map((kind) => (
        <span key={kind}>
          <i data-kind={kind} /> {WORDS[kind]}
        </span>
      ))}
    </div>
  )
}
