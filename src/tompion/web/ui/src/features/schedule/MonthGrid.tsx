import type { OutcomeKind } from '../../components/outcomes'
import { dateText } from '../../lib/format'
import { numberText, t } from '../../messages'
import classes from './MonthGrid.module.css'
import { OUTCOME_ORDER, outcomeLabel } from './OutcomeLegend'
import type { Day, Mark } from './timelineMarks'

/** A week that begins on a Monday, for the names of the days. */
const WEEK = ['2026-11-16', '2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21', '2026-11-22']
const MAX_DOTS = 36

interface Props {
  month: string
  days: string[]
  today: string
  day: string
  onDay: (day: string) => void
  byDay: Map<string, Day>
}

/** The weeks of a month. A day shows its runs as dots, or as shares if there are many. */
export function MonthGrid({ month, days, today, day, onDay, byDay }: Props) {
  return (
    <div className={`panel ${classes.month}`}>
      {WEEK.map((date) => (
        <div key={date} className={classes.weekday}>
          {dateText(date, { weekday: 'short' })}
        </div>
      ))}
      {days.map((date) => (
        <button
          key={date}
          type="button"
          className={classes.day}
          data-outside={!date.startsWith(month)}
          data-today={date === today}
          data-missing={byDay.get(date)?.missing}
          aria-pressed={date === day}
          aria-label={t('calendar.daySummary', { day: longDay(date), summary: summary(byDay.get(date)) })}
          onClick={() => onDay(date)}
        >
          <span className={classes.number}>{Number(date.slice(8))}</span>
          <DayContent marks={byDay.get(date)?.marks ?? []} />
          {byDay.get(date)?.missing !== 'no' && (
            <span className={classes.missing} aria-hidden="true">
              {byDay.get(date)?.missing === 'part' ? t('calendar.more') : t('calendar.notLoaded')}
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
            // biome-ignore lint/suspicious/noArrayIndexKey: the ticks of one mark are all alike
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
      <span className={classes.total} aria-hidden="true">
        {numberText(total)}
      </span>
    </>
  )
}

function countByKind(marks: Mark[]): [OutcomeKind, number][] {
  const counts = new Map<OutcomeKind, number>()
  for (const mark of marks) counts.set(mark.kind, (counts.get(mark.kind) ?? 0) + mark.ticks)
  return OUTCOME_ORDER.filter((kind) => counts.has(kind)).map((kind) => [kind, counts.get(kind)!])
}

function summary(day: Day | undefined): string {
  const counts = countByKind(day?.marks ?? []).map(([kind, count]) =>
    t('calendar.kindCount', { count, kind: outcomeLabel(kind) }),
  )
  if (day?.missing !== 'no') counts.push(counts.length > 0 ? t('calendar.moreNotLoaded') : t('calendar.notLoaded'))
  return counts.join(', ') || t('calendar.noRuns')
}

/** Format a day as "1 January 2027". */
function longDay(day: string): string {
  return dateText(day, { day: 'numeric', month: 'long', year: 'numeric' })
}
