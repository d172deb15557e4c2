import { VisuallyHidden } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react'

import { summariesQuery } from '../../api/queries'
import { SUMMARIES_PER_REQUEST } from '../../api/limits'
import type { ScheduleSummary, Schedule } from '../../api/types'
import { useScheduleMutation, type ScheduleAction } from '../../api/mutations'
import { PauseDialog } from '../../components/PauseDialog'
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

/** The list itself: only the rows that can be seen are there, and only these are looked at more closely. */
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
  const mutation = useScheduleMutation()
  const [pausingId, setPausingId] = useState<string | null>(null)
  const { mutate } = mutation
  const onAction = useCallback(
    (action: ScheduleAction, { schedule_id: id, next_run_at: at }: Schedule) => (action === 'pause' ? setPausingId(id) : mutate({ action, id, at })),
    [mutate],
  )
  const pendingRequest = mutation.isPending ? mutation.variables : undefined
  const areAllSelected = items.length > 0 && items.every((schedule) => selected.has(schedule.schedule_id))
  return (
    <div role="table" aria-label="Schedules" aria-rowcount={hasMore ? -1 : items.length} className={classes.table}>
      <div role="row" className={`${classes.row} ${classes.head}`} data-operate={mayOperate}>
        {mayOperate && (
          <div role="columnheader">
            <input
              type="checkbox"
              className={classes.check}
              aria-label="Choose all that are shown"
              checked={areAllSelected}
              ref={(box) => {
                if (box) box.indeterminate = !areAllSelected && selected.size > 0
              }}
              onChange={() => onSelect(new Set(areAllSelected ? [] : items.map((schedule) => schedule.schedule_id)))}
            />
          </div>
        )}
        <div role="columnheader">Schedule</div>
        <div role="columnheader">When</div>
        <div role="columnheader">Next</div>
        <div role="columnheader">Outcomes</div>
        {mayOperate && (
          <div role="columnheader">
            <VisuallyHidden>Actions</VisuallyHidden>
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
          title={`Pause ${pausingId}`}
          zone={summaries.get(pausingId)?.timezone}
          onClose={() => setPausingId(null)}
          busy={mutation.isPending}
          onPause={(pause) => mutate({ action: 'pause', id: pausingId, pause }, { onSuccess: () => setPausingId(null) })}
        />
      )}
    </div>
  )
}

/** How far down the page the list begins: asked for when that may have changed, because the answer costs a layout. */
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

/** Look at the schedules that can be seen, a chunk at a time: a chunk that was looked at is kept. */
function useVisibleSummaries(items: Schedule[], first: number, last: number): Map<string, ScheduleSummary> {
  const chunks = useMemo(() => {
    const chunks: string[][] = []
    for (let at = Math.floor(first / SUMMARIES_PER_REQUEST) * SUMMARIES_PER_REQUEST; at <= last && at < items.length; at += SUMMARIES_PER_REQUEST)
      chunks.push(items.slice(at, at + SUMMARIES_PER_REQUEST).map((schedule) => schedule.schedule_id))
    return chunks
  }, [items, first, last])
  const queries = useQueries({ queries: chunks.map(summariesQuery) })
  const data = queries.map((item) => item.data)
  return useMemo(() => new Map(data.flatMap((summary) => summary ?? []).map((summary) => [summary.schedule_id, summary])), [...data, data.length])
}
