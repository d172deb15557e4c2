import { Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useRef } from 'react'

import { runsQuery } from '../../api/queries'
import type { Run } from '../../api/types'
import { useNow } from '../../lib/clock'
import { durationText, instantText, timeText } from '../../lib/format'
import { Empty, Waiting } from '../../components/states'
import { kindOf, stateName } from '../../components/outcomes'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import { Segments } from '../../components/SegmentedRadio'
import classes from './TimelineTab.module.css'
import { Legend, ORDER } from './OutcomeLegend'
import bar from './Schedule.module.css'
import { WINDOWS, type Window } from './timelineWindows'
import { useZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/timeline')
const STEPS = [10_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000, 43_200_000, 86_400_000]
const LANE = 24

interface Placed {
  run: Run
  from: number
  to: number
  lane: number
}

/** Runs as bars in time, those that overlap below each other. */
export function Timeline() {
  const { id } = route.useParams()
  const { window } = route.useSearch()
  const navigate = route.useNavigate()
  const first = useRef<Window>(undefined)
  const now = useNow()
  const shown = zoneFor(useZoneChoice(), useZone(id))
  const { ref, width } = useElementSize()
  const query = useInfiniteQuery(runsQuery(id, {}, 500))
  if (query.isPending) return <Waiting />
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  first.current ??= fitting(runs, now)
  const size = window ?? first.current
  const length = WINDOWS[size]
  const end = now + length * 0.03
  const begin = end - length
  const placed = place(runs, begin, now)
  const lanes = placed.reduce((most, each) => Math.max(most, each.lane + 1), 1)
  const x = (at: number) => ((at - begin) / length) * width
  const step = STEPS.find((each) => length / each <= Math.max(4, width / 110)) ?? STEPS.at(-1)!
  const height = lanes * LANE + 30
  return (
    <>
      <div className={bar.bar}>
        <Segments value={size} onChange={(value) => void navigate({ search: (all) => ({ ...all, window: value as Window }), replace: true })} data={Object.keys(WINDOWS)} aria-label="How far back" />
        <Text size="xs" className="dim">
          A bar is a run, from its start to its end; a thin line is a tick that started nothing.
        </Text>
        <Legend kinds={ORDER.filter((kind) => placed.some(({ run }) => kindOf(run.state) === kind))} />
      </div>
      <div ref={ref} className={`panel ${classes.frame}`}>
        {placed.length === 0 && <Empty title="Nothing in this time">Look further back, or trigger the schedule.</Empty>}
        {placed.length > 0 && width > 0 && (
          <svg width={width} height={height} role="group" aria-label={`${placed.length} runs, at most ${lanes} at a time`}>
            {Array.from({ length: Math.ceil(length / step) + 1 }, (_, at) => Math.ceil(begin / step) * step + at * step)
              .filter((at) => at < end)
              .map((at) => (
                <g key={at}>
                  <line x1={x(at)} x2={x(at)} y1={0} y2={height - 20} className={classes.grid} />
                  <text x={x(at) + 3} y={height - 6} className={classes.label}>
                    {length > WINDOWS['24h'] ? instantText(at, shown, 'minute').slice(0, 14) : timeText(at, shown, step < 60_000 ? 'second' : 'minute')}
                  </text>
                </g>
              ))}
            {placed.map(({ run, from, to, lane }) => (
              <Link key={run.run_id} to="/runs/$runId" params={{ runId: run.run_id }} aria-label={told(run, to - from, shown)} className={classes.run}>
                <rect x={x(from)} y={lane * LANE + 4} width={Math.max(run.started_at ? 3 : 1.5, x(to) - x(from))} height={LANE - 6} rx={2} data-fill={kindOf(run.state)}>
                  <title>{told(run, to - from, shown)}</title>
                </rect>
              </Link>
            ))}
            <line x1={x(now)} x2={x(now)} y1={0} y2={height - 20} className={classes.now} />
          </svg>
        )}
      </div>
    </>
  )
}

function told(run: Run, took: number, shown: string): string {
  return `${stateName(run.state)} · ${instantText(run.scheduled_for, shown)}${run.started_at ? ` · ${durationText(took)}` : ''}`
}

/** The shortest time in which most of the newest runs fit: one that is just outside changes nothing. */
function fitting(runs: Run[], now: number): Window {
  const newest = runs.slice(0, 40)
  const oldest = newest[Math.ceil(newest.length * 0.75) - 1]
  const past = oldest ? now - Date.parse(oldest.fire_at) : 0
  return (Object.keys(WINDOWS) as Window[]).find((name) => WINDOWS[name] >= past) ?? '7d'
}

/** Give each run the first lane that is free when it starts. */
function place(runs: Run[], begin: number, now: number): Placed[] {
  const free: number[] = []
  return runs
    .map((run) => {
      const from = Date.parse(run.started_at ?? run.fire_at)
      const to = run.started_at ? (run.finished_at ? Date.parse(run.finished_at) : now) : from
      return { run, from, to }
    })
    .filter(({ from, to }) => to >= begin && from <= now)
    .sort((one, other) => one.from - other.from)
    .map((each) => {
      const found = free.findIndex((until) => until <= each.from)
      const lane = found === -1 ? free.length : found
      free[lane] = each.to
      return { ...each, from: Math.max(each.from, begin), lane }
    })
}
