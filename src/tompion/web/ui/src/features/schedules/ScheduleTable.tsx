import { VisuallyHidden } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { SUMMARIES_PER_REQUEST } from '../../api/limits'
import { type ScheduleAction, useScheduleMutations } from '../../api/mutations'
import { summariesQuery } from '../../api/queries'
import type { Schedule, ScheduleSummary } from '../../api/types'
import { PauseDialog } from '../../components/PauseDialog'
import { t } from '../../messages'
import { ScheduleRow } from './ScheduleRow'
import classes from './ScheduleTable.module.css'

const ROW_PX = 58

interface Props {
  items: Schedule[]
  hasMore: boolean
  onLoadMore: () => void
  selected: ReadonlySet<string>
  onSelect: (selected: ReadonlySet<string>) => void
  mayOperate: boolean
}

/** The table of schedules. It renders the visible rows and loads summaries only for these. */
export function ScheduleTable({ items, hasMore, onLoadMore, selected, onSelect, mayOperate }: Props) {
  const body = useRef<HTMLDivElement>(null)
  const top = useOffsetTop(body)
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollMargin: top,
    measureElement: (element) => element.getBoundingClientRect().height,
  })
  const visible = rows.getVirtualItems()
  const [first = 0, last = 0] = [visible[0]?.index, visible.at(-1)?.index]
  const summaries = useVisibleSummaries(items, first, last)
  useEffect(() => {
    if (hasMore && last >= items.length - 20) onLoadMore()
  }, [hasMore, last, items.length, onLoadMore])

  const latest = useRef(selected)
  latest.current = selected
  const toggle = useCallback(
    (id: string) => {
      const next = new Set(latest.current)
      if (!next.delete(id)) next.add(id)
      onSelect(next)
    },
    [onSelect],
  )
  const mutation = useScheduleMutations()
  const [pausingId, setPausingId] = useState<string | null>(null)
  const { mutate } = mutation
  const onAction = useCallback(
    (action: ScheduleAction, { schedule_id: id, next_run_at: at }: Schedule) =>
      action === 'pause' ? setPausingId(id) : mutate({ action, id, at }),
    [mutate],
  )
  const pendingRequest = mutation.isPending ? mutation.variables : undefined
  const areAllSelected = items.length > 0 && items.every((schedule) => selected.has(schedule.schedule_id))
  return (
    <div
      role="table"
      aria-label={t('nav.schedules')}
      aria-rowcount={hasMore ? -1 : items.length}
      className={classes.table}
    >
      <div role="row" className={`${classes.row} ${classes.head}`} data-operate={mayOperate}>
        {mayOperate && (
          <div role="columnheader">
            <input
              type="checkbox"
              className={classes.check}
              aria-label={t('schedules.selectAll')}
              checked={areAllSelected}
              ref={(box) => {
                if (box) box.indeterminate = !areAllSelected && selected.size > 0
              }}
              onChange={() => onSelect(new Set(areAllSelected ? [] : items.map((schedule) => schedule.schedule_id)))}
            />
          </div>
        )}
        <div role="columnheader">{t('schedules.columnSchedule')}</div>
        <div role="columnheader">{t('schedules.columnTiming')}</div>
        <div role="columnheader">{t('schedules.columnNext')}</div>
        <div role="columnheader">{t('schedules.columnRecent')}</div>
        {mayOperate && (
          <div role="columnheader">
            <VisuallyHidden>{t('common.actions')}</VisuallyHidden>
          </div>
        )}
      </div>
      <div ref={body} role="rowgroup" style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {visible.map(({ index, key, start }) => {
          const schedule = items[index]!
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              className={classes.slot}
              style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}
            >
              <ScheduleRow
                schedule={schedule}
                summary={summaries.get(schedule.schedule_id)}
                isSelected={selected.has(schedule.schedule_id)}
                onToggle={toggle}
                mayOperate={mayOperate}
                index={index}
                pendingRequest={pendingRequest?.id === schedule.schedule_id ? pendingRequest : undefined}
                onAction={onAction}
              />
            </div>
          )
        })}
      </div>
      {pausingId && (
        <PauseDialog
          title={t('pause.title', { id: pausingId })}
          zone={summaries.get(pausingId)?.timezone}
          onClose={() => setPausingId(null)}
          busy={mutation.isPending}
          onPause={(pause) =>
            mutate({ action: 'pause', id: pausingId, pause }, { onSuccess: () => setPausingId(null) })
          }
        />
      )}
    </div>
  )
}

/** Return the offset of the list from the top of the document. It is measured only on resize, because that needs a layout. */
function useOffsetTop(body: RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => setTop(body.current?.offsetTop ?? 0)
    measure()
    window.addEventListener('resize', measure)
    return () => window.removeEventListener('resize', measure)
  }, [body])
  return top
}

/** Return the summaries of the visible schedules. They are loaded and cached in chunks. */
function useVisibleSummaries(items: Schedule[], first: number, last: number): Map<string, ScheduleSummary> {
  const chunks = useMemo(() => {
    const chunks: string[][] = []
    for (
      let at = Math.floor(first / SUMMARIES_PER_REQUEST) * SUMMARIES_PER_REQUEST;
      at <= last && at < items.length;
      at += SUMMARIES_PER_REQUEST
    )
      chunks.push(items.slice(at, at + SUMMARIES_PER_REQUEST).map((schedule) => schedule.schedule_id))
    return chunks
  }, [items, first, last])
  const queries = useQueries({ queries: chunks.map(summariesQuery) })
  const data = queries.map((item) => item.data)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the array is new on every render, its items are not
  return useMemo(
    () => new Map(data.flatMap((summary) => summary ?? []).map((summary) => [summary.schedule_id, summary])),
    [...data, data.length],
  )
}
