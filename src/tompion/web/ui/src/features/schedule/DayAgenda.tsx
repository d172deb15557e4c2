import { Title } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useScheduleMutations } from '../../api/mutations'
import { useIsAllowed } from '../../api/session'
import { Icon } from '../../components/Icon'
import { QuickLink } from '../../components/QuickLink'
import { dateText, relativeText, timeText } from '../../lib/format'
import { t } from '../../messages'
import classes from './DayAgenda.module.css'
import type { Day, Mark } from './timelineMarks'

const MAX_SHOWN = 300
const MISSING_TEXT = { all: 'agenda.notLoaded', part: 'agenda.partlyLoaded' } as const

interface Props {
  id: string
  day: string
  dayMarks: Day
  displayedZone: string
  now: number
  today: boolean
}

/** The runs of one day, each with its time, status and reason. */
export function DayAgenda({ id, day, dayMarks: { marks, missing }, displayedZone, now, today }: Props) {
  const list = useRef<HTMLOListElement>(null)
  const mayOperate = useIsAllowed('operator')
  const mutation = useScheduleMutations()
  const nextIndex = marks.findIndex((mark) => mark.at > now)
  const hasNext = nextIndex >= 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll when the day changes or its first upcoming run appears
  useEffect(() => {
    const nextItem = list.current?.querySelector<HTMLElement>('[data-next]')
    if (nextItem && list.current) list.current.scrollTop = nextItem.offsetTop - list.current.offsetTop - 120
  }, [day, hasNext])
  const from = today && nextIndex > MAX_SHOWN / 2 ? nextIndex - MAX_SHOWN / 2 : 0
  const visible = marks.slice(from, from + MAX_SHOWN)
  const hiddenTicks = [...marks.slice(0, from), ...marks.slice(from + MAX_SHOWN)].reduce(
    (sum, mark) => sum + mark.ticks,
    0,
  )
  return (
    <section className={`panel ${classes.agenda}`} aria-label={t('agenda.label', { day })}>
      <Title order={2} className={classes.title}>
        {dateText(day, { weekday: 'long', day: 'numeric', month: 'long' })}
      </Title>
      {marks.length === 0 && missing === 'no' && <p className={classes.none}>{t('agenda.none')}</p>}
      {missing !== 'no' && <p className={classes.none}>{t(MISSING_TEXT[missing])}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list is scrolled with the keyboard */}
      <ol ref={list} className={classes.list} tabIndex={0} aria-label={t('agenda.list')}>
        {visible.map((mark, at) => (
          <li
            key={`${mark.at} ${mark.runId ?? at}`}
            data-next={from + at === nextIndex || undefined}
            data-skips={mark.kind === 'skipped' || undefined}
            className={classes.item}
          >
            <i data-kind={mark.kind} className={classes.dot} />
            <span className={classes.time}>
              {mark.runId ? (
                <QuickLink to="/runs/$runId" params={{ runId: mark.runId }} className="text-link">
                  {timeText(mark.at, displayedZone)}
                </QuickLink>
              ) : (
                timeText(mark.from ?? mark.at, displayedZone)
              )}
            </span>
            <span className={classes.text}>
              {mark.name}
              {mark.from !== undefined && (
                <span className="dim">{t('agenda.until', { at: timeText(mark.at, displayedZone) })}</span>
              )}
              {from + at === nextIndex && (
                <span className="dim">{t('agenda.relative', { at: relativeText(mark.at, now) })}</span>
              )}
              {mark.reason && <span className={classes.why}>{mark.reason}</span>}
            </span>
            {mayOperate && (
              <SkipButton id={id} mark={mark} timeLabel={timeText(mark.at, displayedZone)} mutation={mutation} />
            )}
          </li>
        ))}
      </ol>
      {hiddenTicks > 0 && <p className={classes.none}>{t('agenda.more', { count: hiddenTicks })}</p>}
    </section>
  )
}

interface SkipButtonProps {
  id: string
  mark: Mark
  timeLabel: string
  mutation: ReturnType<typeof useScheduleMutations>
}

/** A button that skips an upcoming run, or undoes that. */
function SkipButton({ id, mark, timeLabel, mutation }: SkipButtonProps) {
  const at = new Date(mark.at).toISOString()
  const busy = mutation.isPending && mutation.variables.at === at
  if (mark.runId || mark.from !== undefined || (mark.kind !== 'upcoming' && mark.kind !== 'skipped')) return null
  const action = mark.kind === 'upcoming' ? 'skip' : 'unskip'
  const name = t(action === 'skip' ? 'agenda.skip' : 'agenda.unskip', { at: timeLabel })
  return (
    <button
      type="button"
      className={classes.action}
      title={name}
      aria-label={name}
      aria-disabled={busy || undefined}
      onClick={() => !busy && mutation.mutate({ action, id, at })}
    >
      <Icon name={action === 'skip' ? 'skip' : 'refresh'} size={14} />
    </button>
  )
}
