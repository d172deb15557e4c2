import { Select, TextInput } from '@mantine/core'

import type { WrongAt } from './document'
import classes from './Editor.module.css'
import { Rows } from './RepeatedFields'

export interface Every {
  every: string | number
  offset?: string | number
  anchor?: string
}

/** An interval as an object, however it was written. */
export function readEvery(value: unknown): Every {
  return value !== null && typeof value === 'object' ? (value as Every) : { every: (value as string | number | undefined) ?? '' }
}

/** Every so often: one row for each interval. */
export function Intervals({ values, onChange, wrong }: { values: Every[]; onChange: (values: Every[]) => void; wrong: WrongAt }) {
  return (
    <Rows name="interval" items={values} fresh={{ every: '1h' }} onChange={onChange}>
      {(found, at, change) => {
        const of = (label: string) => (at === 0 ? label : `${label}, ${at + 1}`)
        return (
          <div className={classes.pair}>
            <TextInput
              label={of('Every')}
              placeholder="15m"
              error={wrong('intervals', at)}
              value={String(found.every)}
              onChange={(event) => change({ ...found, every: event.currentTarget.value })}
            />
            <TextInput
              label={of('Offset')}
              placeholder="0s"
              value={String(found.offset ?? '')}
              onChange={(event) => change({ ...found, offset: event.currentTarget.value || undefined })}
            />
            <Select
              label={of('Counted from')}
              data={[
                { value: 'epoch', label: 'the clock' },
                { value: 'completion', label: 'the end of the run before' },
              ]}
              allowDeselect={false}
              value={found.anchor ?? 'epoch'}
              onChange={(anchor) => change({ ...found, anchor: anchor === 'epoch' ? undefined : (anchor ?? undefined) })}
            />
          </div>
        )
      }}
    </Rows>
  )
}
