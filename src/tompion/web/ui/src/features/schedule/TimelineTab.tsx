import { Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { runsQuery } from '../../api/queries'
import type { Run } from '../../api/types'
import { outcomeKind, statusLabel } from '../../components/outcomes'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { EmptyState, Loading } from '../../components/states'
import { useNow } from '../../lib/clock'
import { durationText, instantText, timeText } from '../../lib/format'
import { displayZone, useZoneChoice } from '../../lib/timezones'
import { t } from '../../messages'
import { OUTCOME_ORDER, OutcomeLegend } from './OutcomeLegend'
import bar from './Schedule.module.css'
import classes from './TimelineTab.module.css'
import { WINDOWS, type Window } from './timelineWindows'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/timeline')
const STEPS = [10_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000, 43_200_000, 86_400_000]
const LANE_HEIGHT = 24

interface PlacedRun {
  run: Run
  from: number
  to: number
  lane: number
}

/** Runs as bars on a time axis. Overlapping runs stand in separate lanes. */
export function TimelineTab() {
  const { id } = route.useParams()
  const { window } = route.useSearch()
  const navigate = route.useNavigate()
  const initialWindow = useRef<Window>(undefined)
  const now = useNow()
  const displayedZone = displayZone(useZoneChoice(), useScheduleZone(id))
  const { ref, width } = useElementSize()
  const query = useInfiniteQuery(runsQuery(id, {}, 500))
  if (query.isPending) return <Loading />
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  initialWindow.current ??= bestWindow(runs, now)
  const size = window ?? initialWindow.current
  const length = WINDOWS[size]
  const end = now + length * 0.03
  const begin = end - length
  const placed = placeRuns(runs, begin, now)
  const lanes = placed.reduce((most, placedRun) => Math.max(most, placedRun.lane + 1), 1)
  const x = (at: number) => ((at - begin) / length) * width
  const step = STEPS.find((value) => length / value <= Math.max(4, width / 110)) ?? STEPS.at(-1)!
  const height = lanes * LANE_HEIGHT + 30
  return (
    <>
      <div className={bar.bar}>
        <SegmentedRadio
          value={size}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, window: value as Window }), replace: true })}
          data={Object.keys(WINDOWS)}
          aria-label={t('common.timeRange')}
        />
        <Text size="xs" className="dim">
          {t('timeline.help')}
        </Text>
        <OutcomeLegend
          kinds={OUTCOME_ORDER.filter((kind) => placed.some(({ run }) => outcomeKind(run.status) === kind))}
        />
      </div>
      <div ref={ref} className={`panel ${classes.frame}`}>
        {placed.length === 0 && <EmptyState title={t('timeline.none')}>{t('timeline.noneHelp')}</EmptyState>}
        {placed.length > 0 && width > 0 && (
          <svg
            width={width}
            height={height}
            role="group"
            aria-label={t('timeline.summary', { count: placed.length, lanes })}
          >
            {Array.from({ length: Math.ceil(length / step) + 1 }, (_, at) => Math.ceil(begin / step) * step + at * step)
              .filter((at) => at < end)
              .map((at) => (
                <g key={at}>
                  <line x1={x(at)} x2={x(at)} y1={0} y2={height - 20} className={classes.grid} />
                  <text x={x(at) + 3} y={height - 6} className={classes.label}>
                    {length > WINDOWS['24h']
                      ? instantText(at, displayedZone, 'minute').slice(0, 14)
                      : timeText(at, displayedZone, step < 60_000 ? 'second' : 'minute')}
                  </text>
                </g>
              ))}
            {placed.map(({ run, from, to, lane }) => (
              <Link
                key={run.run_id}
                to="/runs/$runId"
                params={{ runId: run.run_id }}
                aria-label={runLabel(run, to - from, displayedZone)}
                className={classes.run}
              >
                <rect
                  x={x(from)}
                  y={lane * LANE_HEIGHT + 4}
                  width={Math.max(run.started_at ? 3 : 1.5, x(to) - x(from))}
                  height={LANE_HEIGHT - 6}
                  rx={2}
                  data-fill={outcomeKind(run.status)}
                >
                  <title>{runLabel(run, to - from, displayedZone)}</title>
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

function runLabel(run: Run, durationMs: number, displayedZone: string): string {
  const values = { state: statusLabel(run.status), at: instantText(run.run_at, displayedZone) }
  return run.started_at
    ? t('timeline.runWithDuration', { ...values, duration: durationText(durationMs) })
    : t('timeline.run', values)
}

/** Return the shortest range that contains most of the newest runs. */
function bestWindow(runs: Run[], now: number): Window {
  const newest = runs.slice(0, 40)
  const oldest = newest[Math.ceil(newest.length * 0.75) - 1]
  const past = oldest ? now - Date.parse(oldest.fire_at) : 0
  return (Object.keys(WINDOWS) as Window[]).find((name) => WINDOWS[name] >= past) ?? '7d'
}

/** Assign each run to the first lane that is free when it starts. */
function placeRuns(runs: Run[], begin: number, now: number): PlacedRun[] {
  const free: number[] = []
  return runs
    .map((run) => {
      const from = Date.parse(run.started_at ?? run.fire_at)
      const to = run.started_at ? (run.finished_at ? Date.parse(run.finished_at) : now) : from
      return { run, from, to }
    })
    .filter(({ from, to }) => to >= begin && from <= now)
    .sort((a, b) => a.from - b.from)
    .map((placedRun) => {
      const freeLane = free.findIndex((until) => until <= placedRun.from)
      const lane = freeLane === -1 ? free.length : freeLane
      free[lane] = placedRun.to
      return { ...placedRun, from: Math.max(placedRun.from, begin), lane }
    })
}
