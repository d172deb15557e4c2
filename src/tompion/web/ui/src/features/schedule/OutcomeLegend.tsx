import type { OutcomeKind } from '../../components/outcomes'
import { t } from '../../messages'
import classes from './OutcomeLegend.module.css'

/** The order in which outcomes are drawn. */
export const OUTCOME_ORDER: OutcomeKind[] = [
  'failed',
  'missed',
  'success',
  'running',
  'waiting',
  'ended',
  'skipped',
  'upcoming',
]

export const outcomeLabel = (kind: OutcomeKind): string => t(`outcome.${kind}`)

/** The meaning of the colours. */
export function OutcomeLegend({ kinds = OUTCOME_ORDER }: { kinds?: OutcomeKind[] }) {
  return (
    <div className={classes.legend} role="group" aria-label={t('outcome.legend')}>
      {kinds.map((kind) => (
        <span key={kind}>
          <i data-kind={kind} /> {outcomeLabel(kind)}
        </span>
      ))}
    </div>
  )
}
