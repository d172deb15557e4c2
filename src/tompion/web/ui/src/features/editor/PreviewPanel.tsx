import { Badge } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { answer, api } from '../../api/client'
import { Problem } from '../../api/problem'
import { key } from '../../api/queries'
import type { Effect, Preview } from '../../api/types'
import { countText, instantText } from '../../lib/format'
import { Relative } from '../../components/Timestamp'
import { Wrong } from '../../components/states'
import { useZoneChoice, zoneFor } from '../../lib/timezones'
import type { Draft } from './document'
import classes from './Editor.module.css'

const TICKS = 20
const REST_MS = 250

/** Ask what a spec would do, when the typing rests. */
export function usePreview(draft: Draft, id: string) {
  const [spec] = useDebouncedValue(draft.spec, REST_MS)
  return useQuery<Preview>({
    queryKey: key('preview', spec, id),
    queryFn: () => answer(api.POST('/api/v1/preview', { body: { spec, count: TICKS, ...(id ? { schedule_id: id } : {}) } as never })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  })
}

/** Ask what a definition would do to the coming ticks of a schedule. */
export function useEffectOf(draft: Draft, id: string | undefined, token: number | undefined) {
  const [settled] = useDebouncedValue(draft, REST_MS)
  return useQuery<Effect>({
    queryKey: key('effect', settled, id, token),
    queryFn: () =>
      answer(api.POST('/api/v1/schedules/{schedule_id}/effect', { params: { path: { schedule_id: id! } }, body: { ...settled, count: TICKS } as never })),
    enabled: id !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  })
}

type Asked<T> = { data: T | undefined; error: unknown; isError: boolean }

/** What a definition means, and what it will do: beside the form, while one types. */
export function Outlook({ preview, effect }: { preview: Asked<Preview>; effect?: Asked<Effect> }) {
  const choice = useZoneChoice()
  if (preview.isError) return <Wrong error={preview.error} />
  if (!preview.data) return null
  const { explanation, findings, ticks, clock_changes: changes, timezone } = preview.data
  const zone = zoneFor(choice, timezone)
  return (
    <div aria-live="polite">
      <section className={`panel ${classes.told}`} aria-label="In words">
        <p className={classes.explanation}>{explanation}</p>
        {findings.map((each) => (
          <div key={`${each.code} ${each.field}`} className={classes.finding} data-severity={each.severity}>
            <Badge color={each.severity === 'error' ? 'red' : each.severity === 'warning' ? 'yellow' : 'gray'}>{each.severity}</Badge> {each.message}
            {each.hint && <div className="dim">{each.hint}</div>}
          </div>
        ))}
      </section>
      {effect && <Effects effect={effect} zone={zone} />}
      <section className={`panel ${classes.told}`} aria-label="The next ticks">
        <h2>The next {countText(ticks.length, 'tick')}</h2>
        {ticks.length === 0 && <p className="dim">There are none: it would never run.</p>}
        <ol className={classes.ticks}>
          {ticks.map((each) => (
            <li key={each.at}>
              <span className="nowrap">{instantText(each.at, zone)}</span>
              <span className="dim">
                <Relative at={each.at} />
              </span>
              {each.reason && <span className={classes.reason}>{each.reason}</span>}
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
          changes.map((each) => (
            <div key={each.at} className={classes.change}>
              <strong>{each.before.slice(0, 10)}</strong> {each.text}.
            </div>
          ))
        )}
      </section>
    </div>
  )
}

const SIGNS: Record<string, string> = { goes: '−', comes: '+' }

function Effects({ effect, zone }: { effect: Asked<Effect>; zone: string }) {
  if (effect.isError) {
    const { error } = effect
    return error instanceof Problem ? <Wrong error={error} /> : null
  }
  if (!effect.data) return null
  const { ticks, staying, going, coming } = effect.data
  const changed = ticks.filter((each) => each.change !== 'stays')
  return (
    <section className={`panel ${classes.told}`} aria-label="What saving it would change">
      <h2>What saving it would change</h2>
      {changed.length === 0 ? (
        <p className="dim">Nothing: the next {countText(staying, 'tick')} {staying === 1 ? 'stays' : 'stay'} as {staying === 1 ? 'it is' : 'they are'}.</p>
      ) : (
        <>
          <p>
            Of the next {countText(ticks.length, 'tick')}, {going} would go, {coming} would come, {staying} would stay.
          </p>
          <ol className={classes.effects}>
            {changed.map((each) => (
              <li key={each.at} data-change={each.change}>
                <span aria-hidden="true">{SIGNS[each.change]}</span> {instantText(each.at, zone)} <span className="dim">{each.change}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}
