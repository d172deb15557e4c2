import { Autocomplete, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'

import { Calendars, type Calendar } from './CalendarFields'
import { Crons } from './CronFields'
import { listOf, readRules, UNSAID, withSpec, type Draft, type WrongAt } from './document'
import classes from './Editor.module.css'
import { Exclusions } from './ExclusionFields'
import { Intervals, readEvery, type Every } from './IntervalFields'
import { Add } from './RepeatedFields'
import { Typed } from './ParsedTextInput'

const ZONES = Intl.supportedValuesOf('timeZone')
type Source = 'cron' | 'intervals' | 'calendars' | 'rrules' | 'times'
const SOURCES: { name: Source; label: string }[] = [
  { name: 'cron', label: 'Cron' },
  { name: 'intervals', label: 'Interval' },
  { name: 'calendars', label: 'Calendar' },
  { name: 'rrules', label: 'RRULE' },
  { name: 'times', label: 'Single times' },
]

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  /** What is wrong with which field, as the service says. */
  wrong: WrongAt
}

/** When it runs: sources, zone, bounds, what is left out, and how it is spread. */
export function When({ draft, onChange, wrong }: Props) {
  const { spec } = draft
  const set = (name: string) => (value: unknown) => onChange(withSpec(draft, name, value))
  return (
    <>
      <Sources draft={draft} onChange={onChange} wrong={wrong} />
      <div className={classes.pair}>
        <Autocomplete
          label="Time zone"
          size="xs"
          placeholder="UTC"
          data={ZONES}
          limit={50}
          error={wrong('timezone')}
          value={(spec.timezone as string | undefined) ?? ''}
          onChange={set('timezone')}
        />
        <Select
          label="Dialect of cron"
          data={['tompion', 'quartz', 'temporal']}
          allowDeselect={false}
          value={(spec.dialect as string | undefined) ?? 'tompion'}
          onChange={(value) => set('dialect')(value === 'tompion' ? undefined : value)}
        />
      </div>
      <div className={classes.pair}>
        <TextInput label="Not before" placeholder="2026-12-01T00:00" error={wrong('start_at')} value={(spec.start_at as string | undefined) ?? ''} onChange={(event) => set('start_at')(event.currentTarget.value)} />
        <TextInput label="Not after" placeholder="2027-12-31T23:59" error={wrong('end_at')} value={(spec.end_at as string | undefined) ?? ''} onChange={(event) => set('end_at')(event.currentTarget.value)} />
      </div>
      <div className={classes.pair}>
        <NumberInput
          label="Jitter, in seconds"
          description="Spreads schedules that would fire together"
          min={0}
          error={wrong('jitter_ms')}
          value={typeof spec.jitter_ms === 'number' ? spec.jitter_ms / 1_000 : ''}
          placeholder={UNSAID}
          onChange={(value) => set('jitter_ms')(typeof value === 'number' ? Math.round(value * 1_000) : undefined)}
        />
        <Select
          label="Jitter goes"
          description="Before and after the tick, or only after"
          data={[
            { value: 'symmetric', label: 'both ways' },
            { value: 'delay', label: 'only later' },
            { value: 'temporal', label: 'later, as Temporal does' },
          ]}
          allowDeselect={false}
          value={(spec.jitter_mode as string | undefined) ?? 'symmetric'}
          onChange={(value) => set('jitter_mode')(value === 'symmetric' ? undefined : value)}
        />
      </div>
      <Clocks draft={draft} onChange={onChange} />
      <Exclusions draft={draft} onChange={onChange} wrong={wrong} />
    </>
  )
}

/** Where ticks come from: those sources that there are, and a button for each of the others. */
function Sources({ draft, onChange, wrong }: Props) {
  const { spec } = draft
  const [opened, setOpened] = useState<ReadonlySet<Source>>(() => new Set(SOURCES.filter(({ name }) => spec[name] !== undefined).map(({ name }) => name)))
  const shows = (name: Source) => opened.has(name) || spec[name] !== undefined
  const set = (name: Source) => (value: unknown[]) => onChange(withSpec(draft, name, value.every(isBlank) ? undefined : value))
  const change = (name: Source) => (value: unknown[]) => {
    if (value.length === 0) setOpened(new Set([...opened].filter((each) => each !== name)))
    set(name)(value)
  }
  const some = <T,>(found: T[], blank: T) => (found.length > 0 ? found : [blank])
  return (
    <>
      {shows('cron') && <Crons texts={some(listOf(spec.cron) as string[], '')} onChange={change('cron')} wrong={wrong} />}
      {shows('intervals') && <Intervals values={some<Every>(listOf(spec.intervals).map(readEvery), { every: '' })} onChange={change('intervals')} wrong={wrong} />}
      {shows('calendars') && (
        <Calendars name="calendar" field="calendars" left="0" values={some<Calendar>(listOf(spec.calendars) as Calendar[], {})} onChange={change('calendars')} wrong={wrong} />
      )}
      {shows('rrules') && (
        <Typed
          lines
          label="RRULE"
          about="RFC 5545, one a line, each after its DTSTART if it has one: FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9"
          first={listOf(spec.rrules).join('\n')}
          wrong={wrong('rrules')}
          onType={(text) => set('rrules')(readRules(text))}
        />
      )}
      {shows('times') && (
        <Typed
          lines
          label="Single times"
          about="One a line: 2027-01-01T00:00:00Z"
          first={listOf(spec.times).join('\n')}
          wrong={wrong('times')}
          onType={(text) => set('times')(text.split('\n').map((each) => each.trim()).filter(Boolean))}
        />
      )}
      <div className={classes.adds}>
        {SOURCES.filter(({ name }) => !shows(name)).map(({ name, label }) => (
          <Add key={name} onClick={() => setOpened(new Set([...opened, name]))}>
            {label}
          </Add>
        ))}
      </div>
    </>
  )
}

/** Whether a source says nothing yet. */
function isBlank(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return value === ''
  return Object.values(value).every((each) => each === undefined || each === '')
}

const GAPS = [
  { value: 'catch_up', label: 'run at the first instant after' },
  { value: 'shift', label: 'run later by the gap' },
  { value: 'skip', label: 'leave it out' },
]
const OVERLAPS = [
  { value: 'auto', label: 'by the kind of the spec' },
  { value: 'first', label: 'the first pass' },
  { value: 'second', label: 'the second pass' },
  { value: 'both', label: 'both passes' },
]

function Clocks({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const { spec } = draft
  const set = (name: string, usual: string | null) => (value: string | null) => onChange(withSpec(draft, name, value === usual ? undefined : value))
  return (
    <div className={classes.pair}>
      <Select label="Clocks go forward" placeholder="as the profile says" clearable data={GAPS} value={(spec.dst_gap as string | undefined) ?? null} onChange={set('dst_gap', null)} />
      <Select label="Clocks go back" allowDeselect={false} data={OVERLAPS} value={(spec.dst_overlap as string | undefined) ?? 'auto'} onChange={set('dst_overlap', 'auto')} />
      <Select label="DST profile" placeholder="vixie" clearable data={['vixie', 'temporal', 'quartz', 'airflow']} value={(spec.dst_profile as string | undefined) ?? null} onChange={set('dst_profile', null)} />
    </div>
  )
}
