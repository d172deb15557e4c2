import { Select, TextInput } from '@mantine/core'

import type { FieldError } from './document'
import classes from './Editor.module.css'
import { RepeatedFields } from './RepeatedFields'

export interface Interval {
  every: string | number
  offset?: string | number
  anchor?: string
}

/** An interval as an object, however it was written. */
export function toInterval(value: unknown): Interval {
  return value !== null && typeof value === 'object' ? (value as Interval) : { every: (value as string | number | undefined) ?? '' }
}

/** Every so often: one row for each interval. */
export function IntervalFields({ values, onChange, fieldError }: { values: Interval[]; onChange: (values: Interval[]) => void; fieldError: FieldError }) {
  return (
    <RepeatedFields name="interval" items={values} newItem={{ every: '1h' }} onChange={onChange}>
      {(interval, at, change) => {
        const numbered = (label: string) => (at === 0 ? label : `${label}, ${at + 1}`)
        return (
          <div className={classes.pair}>
            <TextInput
              label={numbered('Every')}
              placeholder="15m"
              error={fieldError('intervals', at)}
              value={String(interval.every)}
              onChange={(event) => change({ ...interval, every: event.currentTarget.value })}
            />
            <TextInput
              label={numbered('Offset')}
              placeholder="0s"
              value={String(interval.offset ?? '')}
              onChange={(event) => change({ ...interval, offset: event.currentTarget.value || undefined })}
            />
            <Select
              label={numbered('Counted from')}
              data={[
                { value: 'epoch', label: 'the clock' },
                { value: 'completion', label: 'the end of the run before' },
              ]}
              allowDeselect={false}
              value={interval.anchor ?? 'epoch'}
              onChange={(anchor) => change({ ...interval, anchor: anchor === 'epoch' ? undefined : (anchor ?? undefined) })}
            />
          </div>
        )
      }}
    </RepeatedFields>
  )
}
