import { Autocomplete, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'

import { CalendarFields, type CalendarSpec } from './CalendarFields'
import { CronFields } from './CronFields'
import { toList, readRules, SERVER_DEFAULT, withSpec, type Draft, type FieldError } from './document'
import classes from './Editor.module.css'
import { ExclusionFields } from './ExclusionFields'
import { IntervalFields, toInterval, type Interval } from './IntervalFields'
import { AddButton } from './RepeatedFields'
import { ParsedTextInput } from './ParsedTextInput'

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
  fieldError: FieldError
}

/** When it runs: sources, zone, bounds, what is left out, and how it is spread. */
export function TimingFields({ draft, onChange, fieldError }: Props) {
  const { spec } = draft
  const set = (name: string) => (value: unknown) => onChange(withSpec(draft, name, value))
  return (
    <>
      <SourceFields draft={draft} onChange={onChange} fieldError={fieldError} />
      <div className={classes.pair}>
        <Autocomplete
          label="Time zone"
          size="xs"
          placeholder="UTC"
          data={ZONES}
          limit={50}
          error={fieldError('timezone')}
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
        <TextInput label="Not before" placeholder="2026-12-01T00:00" error={fieldError('start_at')} value={(spec.start_at as string | undefined) ?? ''} onChange={(event) => set('start_at')(event.currentTarget.value)} />
        <TextInput label="Not after" placeholder="2027-12-31T23:59" error={fieldError('end_at')} value={(spec.end_at as string | undefined) ?? ''} onChange={(event) => set('end_at')(event.currentTarget.value)} />
      </div>
      <div className={classes.pair}>
        <NumberInput
          label="Jitter, in seconds"
          description="Spreads schedules that would fire together"
          min={0}
          error={fieldError('jitter_ms')}
          value={typeof spec.jitter_ms === 'number' ? spec.jitter_ms / 1_000 : ''}
          placeholder={SERVER_DEFAULT}
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
      <DstFields draft={draft} onChange={onChange} />
      <ExclusionFields draft={draft} onChange={onChange} fieldError={fieldError} />
    </>
  )
}

/** Where ticks come from: those sources that there are, and a button for each of the others. */
function SourceFields({ draft, onChange, fieldError }: Props) {
  const { spec } = draft
  const [openSources, setOpenSources] = useState<ReadonlySet<Source>>(() => new Set(SOURCES.filter(({ name }) => spec[name] !== undefined).map(({ name }) => name)))
  const isShown = (name: Source) => openSources.has(name) || spec[name] !== undefined
  const set = (name: Source) => (value: unknown[]) => onChange(withSpec(draft, name, value.every(isBlank) ? undefined : value))
  const change = (name: Source) => (value: unknown[]) => {
    if (value.length === 0) setOpenSources(new Set([...openSources].filter((source) => source !== name)))
    set(name)(value)
  }
  const orBlank = <T,>(values: T[], blank: T) => (values.length > 0 ? values : [blank])
  return (
    <>
      {isShown('cron') && <CronFields texts={orBlank(toList(spec.cron) as string[], '')} onChange={change('cron')} fieldError={fieldError} />}
      {isShown('intervals') && <IntervalFields values={orBlank<Interval>(toList(spec.intervals).map(toInterval), { every: '' })} onChange={change('intervals')} fieldError={fieldError} />}
      {isShown('calendars') && (
        <CalendarFields name="calendar" field="calendars" timePlaceholder="0" values={orBlank<CalendarSpec>(toList(spec.calendars) as CalendarSpec[], {})} onChange={change('calendars')} fieldError={fieldError} />
      )}
      {isShown('rrules') && (
        <ParsedTextInput
          multiline
          label="RRULE"
          description="RFC 5545, one a line, each after its DTSTART if it has one: FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9"
          initialText={toList(spec.rrules).join('\n')}
          error={fieldError('rrules')}
          onText={(text) => set('rrules')(readRules(text))}
        />
      )}
      {isShown('times') && (
        <ParsedTextInput
          multiline
          label="Single times"
          description="One a line: 2027-01-01T00:00:00Z"
          initialText={toList(spec.times).join('\n')}
          error={fieldError('times')}
          onText={(text) => set('times')(text.split('\n').map((item) => item.trim()).filter(Boolean))}
        />
      )}
      <div className={classes.adds}>
        {SOURCES.filter(({ name }) => !isShown(name)).map(({ name, label }) => (
          <AddButton key={name} onClick={() => setOpenSources(new Set([...openSources, name]))}>
            {label}
          </AddButton>
        ))}
      </div>
    </>
  )
}

/** Whether a source says nothing yet. */
function isBlank(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return value === ''
  return Object.values(value).every((item) => item === undefined || item === '')
}

const DST_GAP_OPTIONS = [
  { value: 'catch_up', label: 'run at the first instant after' },
  { value: 'shift', label: 'run later by the gap' },
  { value: 'skip', label: 'leave it out' },
]
const DST_OVERLAP_OPTIONS = [
  { value: 'auto', label: 'by the kind of the spec' },
  { value: 'first', label: 'the first pass' },
  { value: 'second', label: 'the second pass' },
  { value: 'both', label: 'both passes' },
]

function DstFields({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const { spec } = draft
  const set = (name: string, defaultValue: string | null) => (value: string | null) => onChange(withSpec(draft, name, value === defaultValue ? undefined : value))
  return (
    <div className={classes.pair}>
      <Select label="Clocks go forward" placeholder="as the profile says" clearable data={DST_GAP_OPTIONS} value={(spec.dst_gap as string | undefined) ?? null} onChange={set('dst_gap', null)} />
      <Select label="Clocks go back" allowDeselect={false} data={DST_OVERLAP_OPTIONS} value={(spec.dst_overlap as string | undefined) ?? 'auto'} onChange={set('dst_overlap', 'auto')} />
      <Select label="DST profile" placeholder="vixie" clearable data={['vixie', 'temporal', 'quartz', 'airflow']} value={(spec.dst_profile as string | undefined) ?? null} onChange={set('dst_profile', null)} />
    </div>
  )
}
