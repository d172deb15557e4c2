import { now, useNow } from '../lib/clock'
import { instantText, nearText, relativeText, type Precision } from '../lib/format'
import { Hover } from './HoverTooltip'
import { MY_ZONE, useZoneChoice, zoneFor } from '../lib/timezones'

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
  if (!at) return <span className="dim">–</span>
  const shown = zoneFor(choice, zone)
  return (
    <Hover label={() => <Others at={at} zone={zone} precision={precision} />}>
      <time dateTime={at} className="nowrap">
        {near ? nearText(at, shown, now(), precision) : instantText(at, shown, precision)}
      </time>
    </Hover>
  )
}

function Others({ at, zone, precision }: { at: string; zone?: string | null; precision: Precision }) {
  const current = useNow()
  return (
    <>
      {[...new Set([MY_ZONE, zone ?? 'UTC', 'UTC'])].map((each) => (
        <div key={each} className="nowrap">
          {instantText(at, zoneFor('schedule', each), precision)} {each}
        </div>
      ))}
      <div>{relativeText(at, current)}</div>
    </>
  )
}

/** How long it is until an instant, or since it. */
export function Relative({ at }: { at: string | null | undefined }) {
  const current = useNow()
  return at ? <span className="nowrap">{relativeText(at, current)}</span> : null
}
