import { Badge } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { unwrap, api } from '../../api/client'
import { ApiError } from '../../api/errors'
import { queryKey } from '../../api/queries'
import type { ScheduleDiff, Preview } from '../../api/types'
import { countText, instantText } from '../../lib/format'
import { RelativeTime } from '../../components/Timestamp'
import { ErrorState } from '../../components/states'
import { useZoneChoice, displayZone } from '../../lib/timezones'
import type { Draft } from './document'
import classes from './Editor.module.css'

const PREVIEW_COUNT = 20
const DEBOUNCE_MS = 250

/** Ask what a spec would do, when the typing rests. */
export function usePreview(draft: Draft, id: string) {
  const [spec] = useDebouncedValue(draft.spec, DEBOUNCE_MS)
  return useQuery<Preview>({
    queryKey: queryKey('preview', spec, id),
    queryFn: () => unwrap(api.POST('/api/v1/preview', { body: { spec, count: PREVIEW_COUNT, ...(id ? { schedule_id: id } : {}) } as never })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  })
}

/** Ask what a definition would do to the coming ticks of a schedule. */
export function useScheduleDiff(draft: Draft, id: string | undefined, token: number | undefined) {
  const [debouncedDraft] = useDebouncedValue(draft, DEBOUNCE_MS)
  return useQuery<ScheduleDiff>({
    queryKey: queryKey('effect', debouncedDraft, id, token),
    queryFn: () =>
      unwrap(api.POST('/api/v1/schedules/{schedule_id}/effect', { params: { path: { schedule_id: id! } }, body: { ...debouncedDraft, count: PREVIEW_COUNT } as never })),
    enabled: id !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  })
}

type QueryResult<T> = { data: T | undefined; error: unknown; isError: boolean }

/** What a definition means, and what it will do: beside the form, while one types. */
export function PreviewPanel({ preview, diff }: { preview: QueryResult<Preview>; diff?: QueryResult<ScheduleDiff> }) {
  const choice = useZoneChoice()
  if (preview.isError) return <ErrorState error={preview.error} />
  if (!preview.data) return null
  const { explanation, findings, ticks, clock_changes: changes, timezone } = preview.data
  const zone = displayZone(choice, timezone)
  return (
    <div aria-live="polite">
      <section className={`panel ${classes.told}`} aria-label="In words">
        <p className={classes.explanation}>{explanation}</p>
        {findings.map((finding) => (
          <div key={`${finding.code} ${finding.field}`} className={classes.finding} data-severity={finding.severity}>
            <Badge color={finding.severity === 'error' ? 'red' : finding.severity === 'warning' ? 'yellow' : 'gray'}>{finding.severity}</Badge> {finding.message}
            {finding.hint && <div className="dim">{finding.hint}</div>}
          </div>
        ))}
      </section>
      {diff && <DiffSection diff={diff} zone={zone} />}
      <section className={`panel ${classes.told}`} aria-label="The next ticks">
        <h2>The next {countText(ticks.length, 'tick')}</h2>
        {ticks.length === 0 && <p className="dim">There are none: it would never run.</p>}
        <ol className={classes.ticks}>
          {ticks.map((tick) => (
            <li key={tick.at}>
              <span className="nowrap">{instantText(tick.at, zone)}</span>
              <span className="dim">
                <RelativeTime at={tick.at} />
              </span>
              {tick.reason && <span className={classes.reason}>{tick.reason}</span>}
            </li>
          ))}
        </ol>
        <p className="dim">
          Times in {zone}
          {zone !== timezone && `; the schedule is in ${timezone}`}
        </p>
      </section>
      <section className={`panel ${classes.told}`} aria-label="Clock changes">
        <h2>The next clock changes</h2>
        {changes.length === 0 ? (
          <p className="dim">The clocks of {timezone} are not changed.</p>
        ) : (
          changes.map((change) => (
            <div key={change.at} className={classes.change}>
              <strong>{change.before.slice(0, 10)}</strong> {change.text}.
            </div>
          ))
        )}
      </section>
    </div>
  )
}

const SIGNS: Record<string, string> = { goes: '−', comes: '+' }

function DiffSection({ diff, zone }: { diff: QueryResult<ScheduleDiff>; zone: string }) {
  if (diff.isError) {
    const { error } = diff
    return error instanceof ApiError ? <ErrorState error={error} /> : null
  }
  if (!diff.data) return null
  const { ticks, staying: unchanged, going: removed, coming: added } = diff.data
  const changed = ticks.filter((tick) => tick.change !== 'stays')
  return (
    <section className={`panel ${classes.told}`} aria-label="What saving it would change">
      <h2>What saving it would change</h2>
      {changed.length === 0 ? (
        <p className="dim">Nothing: the next {countText(unchanged, 'tick')} {unchanged === 1 ? 'stays' : 'stay'} as {unchanged === 1 ? 'it is' : 'they are'}.</p>
      ) : (
        <>
          <p>
            Of the next {countText(ticks.length, 'tick')}, {removed} would go, {added} would come, {unchanged} would stay.
          </p>
          <ol className={classes.effects}>
            {changed.map((tick) => (
              <li key={tick.at} data-change={tick.change}>
                <span aria-hidden="true">{SIGNS[tick.change]}</span> {instantText(tick.at, zone)} <span className="dim">{tick.change}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}
