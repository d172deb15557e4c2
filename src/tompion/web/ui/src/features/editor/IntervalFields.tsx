import { Select, TextInput } from '@mantine/core'
import { t } from '../../messages'

import type { FieldError } from './document'
import classes from './Editor.module.css'
import { numbered, RepeatedFields } from './RepeatedFields'

export interface Interval {
  every: string | number
  offset?: string | number
  anchor?: string
}

/** Return an interval as an object, also if the document has only its length. */
export function toInterval(value: unknown): Interval {
  return value !== null && typeof value === 'object'
    ? (value as Interval)
    : { every: (value as string | number | undefined) ?? '' }
}

/** Intervals, one row each. */
export function IntervalFields({
  values,
  onChange,
  fieldError,
}: {
  values: Interval[]
  onChange: (values: Interval[]) => void
  fieldError: FieldError
}) {
  return (
    <RepeatedFields name={t('timing.itemInterval')} items={values} newItem={{ every: '1h' }} onChange={onChange}>
      {(interval, at, change) => {
        return (
          <div className={classes.pair}>
            <TextInput
              label={numbered(t('timing.interval'), at)}
              placeholder="15m"
              error={fieldError('intervals', at)}
              value={String(interval.every)}
              onChange={(event) => change({ ...interval, every: event.currentTarget.value })}
            />
            <TextInput
              label={numbered(t('timing.offset'), at)}
              placeholder="0s"
              value={String(interval.offset ?? '')}
              onChange={(event) => change({ ...interval, offset: event.currentTarget.value || undefined })}
            />
            <Select
              label={numbered(t('timing.anchor'), at)}
              data={[
                { value: 'epoch', label: t('timing.anchorClock') },
                { value: 'completion', label: t('timing.anchorEnd') },
              ]}
              allowDeselect={false}
              value={interval.anchor ?? 'epoch'}
              onChange={(anchor) =>
                change({ ...interval, anchor: anchor === 'epoch' ? undefined : (anchor ?? undefined) })
              }
            />
          </div>
        )
      }}
    </RepeatedFields>
  )
}
