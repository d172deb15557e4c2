import { TextInput } from '@mantine/core'
import { t } from '../../messages'

import type { FieldError } from './document'
import classes from './Editor.module.css'
import { RepeatedFields } from './RepeatedFields'

export type CalendarSpec = Record<string, unknown>

const FIELDS = ['hour', 'minute', 'second', 'day_of_week', 'day_of_month', 'month', 'year', 'comment'] as const

interface Props {
  /** The name of one calendar. */
  name: string
  /** The field of the definition. */
  field: string
  values: CalendarSpec[]
  /** The value of a part of the time that is empty. */
  timePlaceholder: string
  onChange: (values: CalendarSpec[]) => void
  fieldError: FieldError
}

/** Structured calendars. Each has the fields of cron, in the syntax of cron. */
export function CalendarFields({ name, field, values, timePlaceholder, onChange, fieldError }: Props) {
  return (
    <RepeatedFields name={name} items={values} newItem={{}} onChange={onChange}>
      {(value, at, change) => (
        <fieldset className={classes.fields}>
          <legend>{t('timing.numbered', { name, number: at + 1 })}</legend>
          <div className={classes.small}>
            {FIELDS.map((part) => (
              <TextInput
                key={part}
                label={t(`field.${part}`)}
                placeholder={
                  part === 'comment' ? '' : ['hour', 'minute', 'second'].includes(part) ? timePlaceholder : '*'
                }
                value={fieldText(value[part])}
                onChange={(event) => change(withPart(value, part, event.currentTarget.value))}
              />
            ))}
          </div>
          {fieldError(field, at) && <p className={classes.error}>{fieldError(field, at)}</p>}
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

/** Format a field in the syntax of cron, from a number, a list, or ranges with steps. */
function fieldText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(fieldText).join(',')
  if (typeof value !== 'object') return String(value)
  const { start, end, step } = value as { start?: unknown; end?: unknown; step?: unknown }
  return `${start}${end === undefined || end === null || end === start ? '' : `-${end}`}${step === undefined || step === null || step === 1 ? '' : `/${step}`}`
}
