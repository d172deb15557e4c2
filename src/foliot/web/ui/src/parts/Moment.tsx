import { Tooltip } from '@mantine/core'

import { useNow } from './clock'
import { instantText, nearText, relativeText, type Precision } from './format'
import { MY_ZONE, useZoneChoice, zoneFor } from './zones'

interface Props {
  at: string | null | undefined
  /** The zone of the schedule that it belongs to. */
  zone?: string | null
  precision?: Precision
  /** Leave out the date if it is today's. */
  near?: boolean
}

/** An instant, in whichever zone the person wants; the others are a hover away. */
export function Moment({ at, zone, precision = 'second', near = false }: Props) {
  const choice = useZoneChoice()
  const now = useNow()
  if (!at) return <span className="dim">–</span>
  const shown = zoneFor(choice, zone)
  const others = [...new Set([MY_ZONE, zone ?? 'UTC', 'UTC'])]
  return (
    <Tooltip
      label={
        <>
          {others.map((each) => (
            <div key={each} className="nowrap">
              {instantText(at, zoneFor('schedule', each), precision)} {each}
            </div>
          ))}
          <div>{relativeText(at, now)}</div>
        </>
      }
    >
      <time dateTime={at} className="nowrap">
        {near ? nearText(at, shown, now) : instantText(at, shown, precision)}
      </time>
    </Tooltip>
  )
}

/** How long it is until an instant, or since it. */
export function Relative({ at }: { at: string | null | undefined }) {
  const now = useNow()
  return at ? <span className="nowrap">{relativeText(at, now)}</span> : null
}
