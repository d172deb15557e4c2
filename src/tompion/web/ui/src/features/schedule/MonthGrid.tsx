import { dateText } from '../../lib/format'
import type { OutcomeKind } from '../../components/outcomes'
import { OUTCOME_ORDER, OUTCOME_LABELS } from './OutcomeLegend'
import type { Day, Mark } from './timelineMarks'
import classes from './MonthGrid.module.css'

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const MAX_DOTS = 36

interface Props {
  month: string
  days: string[]
  today: string
  day: string
  onDay: (day: string) => void
  byDay: Map<string, Day>
}

/** The weeks of a month; in each day its ticks: one by one while they are few, as shares when they are many. */
export function MonthGrid({ month, days, today, day, onDay, byDay }: Props) {
  return (
    <div className={`panel ${classes.month}`}>
      {WEEKDAYS.map((name) => (
        <div key={name} className={classes.weekday}>
          {name}
        </div>
      ))}
      {days.map((date) => (
        <button
          key={date}
          type="button"
          className={classes.day}
          data-outside={!date.startsWith(month)}
          data-today={date === today}
          data-unread={byDay.get(date)?.missing}
          aria-pressed={date === day}
          aria-label={`${longDay(date)}: ${summary(byDay.get(date))}`}
          onClick={() => onDay(date)}
        >
          <span className={classes.number}>{Number(date.slice(8))}</span>
          <DayContent marks={byDay.get(date)?.marks ?? []} />
          {byDay.get(date)?.missing !== 'no' && (
            <span className={classes.unread} aria-hidden="true">
              {byDay.get(date)?.missing === 'part' ? 'and more' : 'not read'}
            </span>
          )}
        </button>
      ))}
    </div>
  )
}

function DayContent({ marks }: { marks: Mark[] }) {
  const total = marks.reduce((sum, mark) => sum + mark.ticks, 0)
  if (total === 0) return null
  if (total <= MAX_DOTS)
    return (
      <span className={classes.dots}>
        {marks.flatMap((mark) =>
          Array.from({ length: mark.ticks }, (_, at) => (
            <i key={`${mark.at} ${mark.runId ?? mark.kind} ${at}`} data-kind={mark.kind} title={mark.name} />
          )),
        )}
      </span>
    )
  const counts = countByKind(marks)
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

function countByKind(marks: Mark[]): [OutcomeKind, number][] {
  const counts = new Map<OutcomeKind, number>()
  for (const mark of marks) counts.set(mark.kind, (counts.get(mark.kind) ?? 0) + mark.ticks)
  return OUTCOME_ORDER.filter((kind) => counts.has(kind)).map((kind) => [kind, counts.get(kind)!])
}

function summary(day: Day | undefined): string {
  const counts = countByKind(day?.marks ?? []).map(([kind, count]) => `${count} ${OUTCOME_LABELS[kind]}`)
  if (day?.missing !== 'no') counts.push(counts.length > 0 ? 'and more that were not read' : 'not read')
  return counts.join(', ') || 'no ticks'
}

/** "1 January 2027" */
function longDay(day: string): string {
  return dateText(day, { day: 'numeric', month: 'long', year: 'numeric' })
}
