import { dateText } from '../../lib/format'
import type { OutcomeKind } from '../../components/outcomes'
import { ORDER, WORDS } from './OutcomeLegend'
import type { Day, Mark } from './timelineMarks'
import classes from './MonthGrid.module.css'

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const MOST_DOTS = 36

interface Props {
  month: string
  days: string[]
  today: string
  day: string
  onDay: (day: string) => void
  byDay: Map<string, Day>
}

/** The weeks of a month; in each day its ticks: one by one while they are few, as shares when they are many. */
export function Month({ month, days, today, day, onDay, byDay }: Props) {
  return (
    <div className={`panel ${classes.month}`}>
      {WEEKDAYS.map((name) => (
        <div key={name} className={classes.weekday}>
          {name}
        </div>
      ))}
      {days.map((each) => (
        <button
          key={each}
          type="button"
          className={classes.day}
          data-outside={!each.startsWith(month)}
          data-today={each === today}
          data-unread={byDay.get(each)?.unread}
          aria-pressed={each === day}
          aria-label={`${longDay(each)}: ${summary(byDay.get(each))}`}
          onClick={() => onDay(each)}
        >
          <span className={classes.number}>{Number(each.slice(8))}</span>
          <Content marks={byDay.get(each)?.marks ?? []} />
          {byDay.get(each)?.unread !== 'no' && (
            <span className={classes.unread} aria-hidden="true">
              {byDay.get(each)?.unread === 'part' ? 'and more' : 'not read'}
            </span>
          )}
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
        {marks.flatMap((mark) =>
          Array.from({ length: mark.ticks }, (_, at) => (
            <i key={`${mark.at} ${mark.runId ?? mark.kind} ${at}`} data-kind={mark.kind} title={mark.name} />
          )),
        )}
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

function summary(day: Day | undefined): string {
  const counts = counted(day?.marks ?? []).map(([kind, count]) => `${count} ${WORDS[kind]}`)
  if (day?.unread !== 'no') counts.push(counts.length > 0 ? 'and more that were not read' : 'not read')
  return counts.join(', ') || 'no ticks'
}

/** "1 January 2027" */
function longDay(day: string): string {
  return dateText(day, { day: 'numeric', month: 'long', year: 'numeric' })
}
