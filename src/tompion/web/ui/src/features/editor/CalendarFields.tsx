import { TextInput } from '@mantine/core'

import type { FieldError } from './document'
import classes from './Editor.module.css'
import { RepeatedFields } from './RepeatedFields'

export type CalendarSpec = Record<string, unknown>

const FIELDS = [
  ['hour', 'Hour'],
  ['minute', 'Minute'],
  ['second', 'Second'],
  ['day_of_week', 'Day of week'],
  ['day_of_month', 'Day of month'],
  ['month', 'Month'],
  ['year', 'Year'],
  ['comment', 'Comment'],
] as const

interface Props {
  name: string
  /** The field of the definition that they stand in. */
  field: string
  values: CalendarSpec[]
  /** What a time that is left out stands for. */
  timePlaceholder: string
  onChange: (values: CalendarSpec[]) => void
  fieldError: FieldError
}

/** Structured calendars: each has a field for what cron has one for, in the grammar of cron. */
export function CalendarFields({ name, field, values, timePlaceholder, onChange, fieldError }: Props) {
  return (
    <RepeatedFields name={name} items={values} newItem={{}} onChange={onChange}>
      {(value, at, change) => (
        <fieldset className={classes.fields}>
          <legend>{`${name} ${at + 1}`}</legend>
          <div className={classes.small}>
            {FIELDS.map(([part, label]) => (
              <TextInput
                key={part}
                label={label}
                placeholder={part === 'comment' ? '' : ['hour', 'minute', 'second'].includes(part) ? timePlaceholder : '*'}
                value={fieldText(value[part])}
                onChange={(event) => change(withPart(value, part, event.currentTarget.value))}
              />
            ))}
          </div>
          {fieldError(field, at) && <p className={classes.wrong}>{fieldError(field, at)}</p>}
        </fieldset>
      )}
    </RepeatedFields>
  )
}

function withPart(value: CalendarSpec, part: string, text: string): CalendarSpec {
  const next = { ...value }
  if (text === '') delete next[part]
  else next[part] = text
  return next
}

/** A field in the grammar of cron, however it was written: a number, a list, ranges with steps. */
function fieldText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(fieldText).join(',')
  if (typeof value !== 'object') return String(value)
  const { start, end, step } = value as { start?: unknown; end?: unknown; step?: unknown }
  return `${start}${end === undefined || end === null || end === start ? '' : `-${end}`}${step === undefined || step === null || step === 1 ? '' : `/${step}`}`
}
