import type { OutcomeKind } from '../../components/outcomes'
import classes from './OutcomeLegend.module.css'

/** In this order outcomes are drawn. */
export const OUTCOME_ORDER: OutcomeKind[] = ['failed', 'missed', 'success', 'running', 'waiting', 'ended', 'skipped', 'coming']

export const OUTCOME_LABELS: Record<OutcomeKind, string> = {
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
export function OutcomeLegend({ kinds = OUTCOME_ORDER }: { kinds?: OutcomeKind[] }) {
  return (
    <div className={classes.legend} role="group" aria-label="Colours">
      {kinds.map((kind) => (
        <span key={kind}>
          <i data-kind={kind} /> {OUTCOME_LABELS[kind]}
        </span>
      ))}
    </div>
  )
}
