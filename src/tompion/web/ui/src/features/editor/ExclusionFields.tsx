import { MultiSelect, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'

import { calendarsQuery } from '../../api/queries'
import { Calendars, type Calendar } from './CalendarFields'
import { listOf, textList, withExclude, type Draft, type WrongAt } from './document'
import classes from './Editor.module.css'
import { Add, Rows } from './RepeatedFields'
import { Typed } from './ParsedTextInput'

interface Window {
  from: string
  to: string
  note?: string
}

interface Holidays {
  country: string
  subdivision?: string | null
}

/** What is left out: days of calendars, public holidays, single days, stretches of time, times. */
export function Exclusions({ draft, onChange, wrong }: { draft: Draft; onChange: (draft: Draft) => void; wrong: WrongAt }) {
  const exclude = (draft.spec.exclude ?? {}) as Record<string, unknown>
  const known = useInfiniteQuery(calendarsQuery()).data?.pages.flatMap((page) => page.items.map((each) => each.name)) ?? []
  const named = listOf(exclude.named) as string[]
  const [windows, calendars] = [listOf(exclude.windows) as Window[], listOf(exclude.calendars) as Calendar[]]
  const set = (name: string) => (value: unknown[]) => onChange(withExclude(draft, name, value))
  return (
    <>
      <div className={classes.pair}>
        <MultiSelect
          label="Not on days of"
          size="xs"
          placeholder={known.length > 0 ? 'calendars' : 'there are no calendars yet'}
          data={[...new Set([...known, ...named])]}
          value={named}
          error={wrong('exclude.named')}
          onChange={set('named')}
        />
        <Typed
          label="Not on"
          placeholder="2026-12-25, 2026-12-26"
          first={listOf(exclude.dates).join(', ')}
          wrong={wrong('exclude.dates')}
          onType={(text) => set('dates')(textList(text))}
        />
        <Typed
          label="Not on holidays of"
          placeholder="DE-BY, AT"
          first={holidaysOf(exclude.holidays).map(code).join(', ')}
          wrong={wrong('exclude.holidays')}
          onType={(text) => set('holidays')(readHolidays(text, holidaysOf(exclude.holidays)))}
        />
      </div>
      <Rows name="stretch" items={windows} fresh={{ from: '', to: '' }} onChange={set('windows')}>
        {(value, at, change) => (
          <div className={classes.pair}>
            <TextInput label="Not from" placeholder="2026-12-20T18:00" error={wrong('exclude.windows', at)} value={value.from} onChange={(event) => change({ ...value, from: event.currentTarget.value })} />
            <TextInput label="Up to" placeholder="2027-01-04" value={value.to} onChange={(event) => change({ ...value, to: event.currentTarget.value })} />
            <TextInput label="Because" value={value.note ?? ''} onChange={(event) => change({ ...value, note: event.currentTarget.value || undefined })} />
          </div>
        )}
      </Rows>
      <Calendars name="left-out calendar" field="exclude.calendars" left="*" values={calendars} onChange={set('calendars')} wrong={wrong} />
      <div className={classes.adds}>
        {windows.length === 0 && <Add onClick={() => set('windows')([{ from: '', to: '' }])}>Leave a stretch of time out</Add>}
        {calendars.length === 0 && <Add onClick={() => set('calendars')([{ day_of_week: 'SAT,SUN' }])}>Leave days or hours out</Add>}
      </div>
    </>
  )
}

function holidaysOf(value: unknown): Holidays[] {
  return listOf(value).map((each) => {
    if (typeof each !== 'string') return each as Holidays
    const [country = '', subdivision] = each.split('-')
    return { country, subdivision }
  })
}

const code = ({ country, subdivision }: Holidays) => (subdivision ? `${country}-${subdivision}` : country)

/** The places that are named; one that was there before keeps its dates, as they were once looked up. */
function readHolidays(text: string, before: Holidays[]): unknown[] {
  return textList(text).map((each) => before.find((known) => code(known) === each && 'dates' in known) ?? each)
}
