import type { OutcomeKind } from '../../parts/outcomes'
import type { Mark } from './marks'
import classes from './Month.module.css'

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const MOST_DOTS = 36
const ORDER: OutcomeKind[] = ['failed', 'missed', 'success', 'running', 'waiting', 'ended', 'skipped', 'coming']
const WORDS: Record<OutcomeKind, string> = {
  success: 'succeeded',
  failed: 'failed',
  running: 'running',
  waiting: 'waiting',
  skipped: 'skipped',
  missed: 'missed',
  ended: 'ended',
  coming: 'to come',
}

interface Props {
  month: string
  today: string
  day: string
  onDay: (day: string) => void
  byDay: Map<string, Mark[]>
}

/** Which colour means what. */
export function Legend() {
  return (
    <div className={classes.legend} role="group" aria-label="Colours">
      {ORDER.map((kind) => (
        <span key={kind}>
          <i data-kind={kind} /> {WORDS[kind]}
        </span>
      ))}
    </div>
  )
}

/** The weeks of a month; in each day its ticks: one by one while they are few, as shares when they are many. */
export function Month({ month, today, day, onDay, byDay }: Props) {
  return (
    <div className={`panel ${classes.month}`}>
      {WEEKDAYS.map((name) => (
        <div key={name} className={classes.weekday}>
          {name}
        </div>
      ))}
      {daysOf(month).map((each) => (
        <button
          key={each}
          type="button"
          className={classes.day}
          data-outside={!each.startsWith(month)}
          data-today={each === today}
          aria-pressed={each === day}
          aria-label={`${longDay(each)}: ${summary(byDay.get(each) ?? [])}`}
          onClick={() => onDay(each)}
        >
          <span className={classes.number}>{Number(each.slice(8))}</span>
          <Content marks={byDay.get(each) ?? []} />
        </button>
      ))}
    </div>
  )
}

function Content({ marks }: { marks: Mark[] }) {
  const total = marks.reduce((sum, mark) => sum + mark.ticks, 0)
  if (total === 0) return null
  if (total <= MOST_DOTS)
    return (
      <span className={classes.dots}>
        {marks.map((mark) => (
          <i key={`${mark.at} ${mark.runId ?? mark.kind}`} data-kind={mark.kind} title={mark.name} />
        ))}
      </span>
    )
  const counts = counted(marks)
  return (
    <>
      <span className={classes.share}>
        {counts.map(([kind, count]) => (
          <i key={kind} data-kind={kind} style={{ flexGrow: count, minWidth: 2 }} />
        ))}
      </span>
      <span className={classes.total} aria-hidden="true">{total.toLocaleString('en-GB')}</span>
    </>
  )
}

function counted(marks: Mark[]): [OutcomeKind, number][] {
  const counts = new Map<OutcomeKind, number>()
  for (const mark of marks) counts.set(mark.kind, (counts.get(mark.kind) ?? 0) + mark.ticks)
  return ORDER.filter((kind) => counts.has(kind)).map((kind) => [kind, counts.get(kind)!])
}

function summary(marks: Mark[]): string {
  return (
    counted(marks)
      .map(([kind, count]) => `${count} ${WORDS[kind]}`)
      .join(', ') || 'no ticks'
  )
}

/** "1 January 2027" */
function longDay(day: string): string {
  return new Date(`${day}T12:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
}

/** Whole weeks, from the Monday on or before the first to the Sunday on or after the last. */
function daysOf(month: string): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number)
  const first = new Date(Date.UTC(year, number - 1, 1))
  const last = new Date(Date.UTC(year, number, 0))
  const begin = first.getTime() - ((first.getUTCDay() + 6) % 7) * 86_400_000
  const end = last.getTime() + ((7 - last.getUTCDay()) % 7) * 86_400_000
  return Array.from({ length: (end - begin) / 86_400_000 + 1 }, (_, at) =>
    new Date(begin + at * 86_400_000).toISOString().slice(0, 10),
  )
}
