import { now, useNow } from '../lib/clock'
import { instantText, NO_VALUE, type Precision, relativeText, shortInstantText } from '../lib/format'
import { displayZone, LOCAL_ZONE, useZoneChoice } from '../lib/timezones'
import { HoverTooltip } from './HoverTooltip'

interface Props {
  at: string | null | undefined
  /** The time zone of the schedule. */
  zone?: string | null
  precision?: Precision
  /** Leave out the date if it is today's. */
  short?: boolean
}

/** An instant in the chosen time zone. The tooltip shows it in the other zones. */
export function Timestamp({ at, zone, precision = 'second', short = false }: Props) {
  const choice = useZoneChoice()
  if (!at) return <span className="dim">{NO_VALUE}</span>
  const displayedZone = displayZone(choice, zone)
  return (
    <HoverTooltip label={() => <AllZones at={at} zone={zone} precision={precision} />}>
      <time dateTime={at} className="nowrap">
        {short ? shortInstantText(at, displayedZone, now(), precision) : instantText(at, displayedZone, precision)}
      </time>
    </HoverTooltip>
  )
}

function AllZones({ at, zone, precision }: { at: string; zone?: string | null; precision: Precision }) {
  const now = useNow()
  return (
    <>
      {[...new Set([LOCAL_ZONE, zone ?? 'UTC', 'UTC'])].map((item) => (
        <div key={item} className="nowrap">
          {instantText(at, displayZone('schedule', item), precision)} {item}
        </div>
      ))}
      <div>{relativeText(at, now)}</div>
    </>
  )
}

/** The time until an instant, or since it. */
export function RelativeTime({ at }: { at: string | null | undefined }) {
  const now = useNow()
  return at ? <span className="nowrap">{relativeText(at, now)}</span> : null
}
