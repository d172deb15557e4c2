import classes from './Diff.module.css'

type Flat = Map<string, string>

const NOTHING = new Set(['null', '""', '{}', '[]'])

/** What a schedule has that nobody said anything about: where one is made, it says nothing. */
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

/** Every leaf of a document by its path; what says nothing is as good as not there. */
function flat(value: unknown, path = '', found: Flat = new Map()): Flat {
  if (value !== null && typeof value === 'object' && Object.keys(value).length > 0) {
    const pairs = path === 'labels' && Array.isArray(value) ? Object.fromEntries(value as [string, unknown][]) : value
    for (const [name, each] of Object.entries(pairs)) flat(each, path ? `${path}.${name}` : name, found)
  } else {
    const text = JSON.stringify(value)
    if (!NOTHING.has(text)) found.set(path, text)
  }
  return found
}

/** What has changed between two documents, field by field. */
export function differences(before: unknown, after: unknown): { path: string; before?: string; after?: string }[] {
  const [old, fresh] = [flat(before ?? {}), flat(after ?? {})]
  const paths = [...new Set([...old.keys(), ...fresh.keys()])].filter(Boolean).sort()
  return paths
    .filter((path) => old.get(path) !== fresh.get(path) && !(old.size === 0 && DEFAULTS.get(path) === fresh.get(path)))
    .map((path) => ({ path, before: old.get(path), after: fresh.get(path) }))
}

interface Props {
  before: unknown
  after: unknown
  /** What somebody else has changed as well. */
  contested?: ReadonlySet<string>
}

export function Diff({ before, after, contested }: Props) {
  const found = differences(before, after)
  if (found.length === 0) return <p className="dim">Nothing differs.</p>
  return (
    <ul className={classes.diff}>
      {found.map((each) => (
        <li key={each.path}>
          <span className={classes.path}>
            {each.path}
            {contested?.has(each.path) && <strong className={classes.contested}> both changed this</strong>}
          </span>
          {each.before !== undefined && (
            <del>
              <span className={classes.sign}>− </span>
              {each.before}
            </del>
          )}
          {each.after !== undefined && (
            <ins>
              <span className={classes.sign}>+ </span>
              {each.after}
            </ins>
          )}
        </li>
      ))}
    </ul>
  )
}
