import { VisuallyHidden } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react'

import { glancesQuery } from '../../api/queries'
import { AT_A_GLANCE } from '../../api/limits'
import type { Glance, Schedule } from '../../api/types'
import { useDeeds, type Deed } from '../../api/mutations'
import { PauseDialog } from '../../components/PauseDialog'
import { Row } from './ScheduleRow'
import classes from './ScheduleTable.module.css'

const ROW_PX = 58

interface Props {
  items: Schedule[]
  more: boolean
  onMore: () => void
  chosen: ReadonlySet<string>
  onChoose: (chosen: ReadonlySet<string>) => void
  mayOperate: boolean
}

/** The list itself: only the rows that can be seen are there, and only these are looked at more closely. */
export function Table({ items, more, onMore, chosen, onChoose, mayOperate }: Props) {
  const body = useRef<HTMLDivElement>(null)
  const top = useTop(body)
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollMargin: top,
    measureElement: (element) => element.getBoundingClientRect().height,
  })
  const visible = rows.getVirtualItems()
  const [first = 0, last = 0] = [visible[0]?.index, visible.at(-1)?.index]
  const glances = useGlances(items, first, last)
  useEffect(() => {
    if (more && last >= items.length - 20) onMore()
  }, [more, last, items.length, onMore])

  const latest = useRef(chosen)
  latest.current = chosen
  const toggle = useCallback(
    (id: string) => {
      const next = new Set(latest.current)
      if (!next.delete(id)) next.add(id)
      onChoose(next)
    },
    [onChoose],
  )
  const deeds = useDeeds()
  const [pausing, setPausing] = useState<string | null>(null)
  const { mutate } = deeds
  const onDo = useCallback(
    (deed: Deed, { schedule_id: id, next_run_at: at }: Schedule) => (deed === 'pause' ? setPausing(id) : mutate({ deed, id, at })),
    [mutate],
  )
  const doing = deeds.isPending ? deeds.variables : undefined
  const all = items.length > 0 && items.every((each) => chosen.has(each.schedule_id))
  return (
    <div role="table" aria-label="Schedules" aria-rowcount={more ? -1 : items.length} className={classes.table}>
      <div role="row" className={`${classes.row} ${classes.head}`} data-operate={mayOperate}>
        {mayOperate && (
          <div role="columnheader">
            <input
              type="checkbox"
              className={classes.check}
              aria-label="Choose all that are shown"
              checked={all}
              ref={(box) => {
                if (box) box.indeterminate = !all && chosen.size > 0
              }}
              onChange={() => onChoose(new Set(all ? [] : items.map((each) => each.schedule_id)))}
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
              <Row
                schedule={schedule}
                glance={glances.get(schedule.schedule_id)}
                chosen={chosen.has(schedule.schedule_id)}
                onToggle={toggle}
                mayOperate={mayOperate}
                index={index}
                doing={doing?.id === schedule.schedule_id ? doing : undefined}
                onDo={onDo}
              />
            </div>
          )
        })}
      </div>
      {pausing && (
        <PauseDialog
          title={`Pause ${pausing}`}
          zone={glances.get(pausing)?.timezone}
          onClose={() => setPausing(null)}
          busy={deeds.isPending}
          onPause={(pause) => mutate({ deed: 'pause', id: pausing, pause }, { onSuccess: () => setPausing(null) })}
        />
      )}
    </div>
  )
}

/** How far down the page the list begins: asked for when that may have changed, because the answer costs a layout. */
function useTop(body: RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const look = () => setTop(body.current?.offsetTop ?? 0)
    look()
    window.addEventListener('resize', look)
    return () => window.removeEventListener('resize', look)
  }, [body])
  return top
}

/** Look at the schedules that can be seen, a chunk at a time: a chunk that was looked at is kept. */
function useGlances(items: Schedule[], first: number, last: number): Map<string, Glance> {
  const chunks = useMemo(() => {
    const found: string[][] = []
    for (let at = Math.floor(first / AT_A_GLANCE) * AT_A_GLANCE; at <= last && at < items.length; at += AT_A_GLANCE)
      found.push(items.slice(at, at + AT_A_GLANCE).map((each) => each.schedule_id))
    return found
  }, [items, first, last])
  const answers = useQueries({ queries: chunks.map(glancesQuery) })
  const data = answers.map((each) => each.data)
  return useMemo(() => new Map(data.flatMap((each) => each ?? []).map((each) => [each.schedule_id, each])), [...data, data.length])
}
