import classes from './Diff.module.css'

type Flat = Map<string, string>

const NOTHING = new Set(['null', '""', '{}', '[]'])

/** Every leaf of a document by its path; what says nothing is as good as not there. */
function flat(value: unknown, path = '', found: Flat = new Map()): Flat {
  if (value !== null && typeof value === 'object' && Object.keys(value).length > 0) {
    for (const [name, each] of Object.entries(value)) flat(each, path ? `${path}.${name}` : name, found)
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
    .filter((path) => old.get(path) !== fresh.get(path))
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
