import { t } from '../messages'
import classes from './Diff.module.css'

const [REMOVED_SIGN, ADDED_SIGN] = ['− ', '+ ']

type Leaves = Map<string, string>

const EMPTY_VALUES = new Set(['null', '""', '{}', '[]'])

/** The defaults of a schedule. The diff of a new schedule leaves them out. */
const DEFAULTS = new Map(
  Object.entries({
    'action.queue': 'default',
    'policy.adaptive': false,
    'policy.buffer_keep': 'latest',
    'policy.catchup_policy': 'none',
    'policy.failure_backoff': true,
    'policy.max_attempts': 1,
    'policy.max_concurrent': 1,
    'policy.min_interval_ms': 0,
    'policy.notify': true,
    'policy.on_resume': 'policy',
    'policy.on_worker_lost': 'relaunch',
    'policy.overlap_policy': 'skip',
    'policy.pause_on_failure': false,
    'policy.retry_delay_ms': 1_000,
    'policy.shadow': false,
    'spec.dialect': 'tompion',
    'spec.dst_overlap': 'auto',
    'spec.jitter_mode': 'symmetric',
    'spec.jitter_ms': 0,
  }).map(([path, value]) => [path, JSON.stringify(value)]),
)

/** Return the leaves of a document by path, without empty values. */
function flatten(value: unknown, path = '', leaves: Leaves = new Map()): Leaves {
  if (value !== null && typeof value === 'object' && Object.keys(value).length > 0) {
    const pairs = path === 'labels' && Array.isArray(value) ? Object.fromEntries(value as [string, unknown][]) : value
    for (const [name, item] of Object.entries(pairs)) flatten(item, path ? `${path}.${name}` : name, leaves)
  } else {
    const text = JSON.stringify(value)
    if (!EMPTY_VALUES.has(text)) leaves.set(path, text)
  }
  return leaves
}

/** Return the fields that differ between two documents. */
export function diffDocuments(before: unknown, after: unknown): { path: string; before?: string; after?: string }[] {
  const [oldLeaves, newLeaves] = [flatten(before ?? {}), flatten(after ?? {})]
  const paths = [...new Set([...oldLeaves.keys(), ...newLeaves.keys()])].filter(Boolean).sort()
  return paths
    .filter(
      (path) =>
        oldLeaves.get(path) !== newLeaves.get(path) &&
        !(oldLeaves.size === 0 && DEFAULTS.get(path) === newLeaves.get(path)),
    )
    .map((path) => ({ path, before: oldLeaves.get(path), after: newLeaves.get(path) }))
}

interface Props {
  before: unknown
  after: unknown
  /** Paths that another user changed as well. */
  conflicts?: ReadonlySet<string>
}

export function Diff({ before, after, conflicts }: Props) {
  const changes = diffDocuments(before, after)
  if (changes.length === 0) return <p className="dim">{t('diff.none')}</p>
  return (
    <ul className={classes.diff}>
      {changes.map((change) => (
        <li key={change.path}>
          <span className={classes.path}>
            {change.path}
            {conflicts?.has(change.path) && <strong className={classes.conflict}> {t('diff.conflict')}</strong>}
          </span>
          {change.before !== undefined && (
            <del>
              <span className={classes.sign}>{REMOVED_SIGN}</span>
              {change.before}
            </del>
          )}
          {change.after !== undefined && (
            <ins>
              <span className={classes.sign}>{ADDED_SIGN}</span>
              {change.after}
            </ins>
          )}
        </li>
      ))}
    </ul>
  )
}
