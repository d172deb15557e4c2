import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { attentionQuery } from '../../api/queries'
import type { Concern } from '../../api/types'
import { Icon, type IconName } from '../../components/Icon'
import { Relative } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import classes from './Overview.module.css'

const ICONS: Record<string, IconName> = {
  forgotten_pause: 'pause',
  missed: 'clock',
  stuck: 'runs',
  buffer: 'menu',
  no_engine: 'instances',
  skewed_clock: 'clock',
  clock_set_back: 'clock',
  unserved_queue: 'targets',
}

/** Concerns whose text says for how long. */
const SAYS_SINCE = new Set(['forgotten_pause'])

/** What somebody should look at, and where to go for it. */
export function Attention() {
  const found = useQuery(attentionQuery())
  if (found.isPending) return <Waiting lines={4} />
  if (found.isError) return <Wrong error={found.error} onRetry={() => void found.refetch()} />
  if (found.data.concerns.length === 0)
    return (
      <p className={classes.calm}>
        Nothing. Schedules that fail, miss ticks, wait too long or were paused and forgotten would be listed here.
      </p>
    )
  return (
    <ul className={classes.concerns}>
      {found.data.concerns.map((each) => (
        <li key={`${each.kind} ${each.subject}`} data-urgency={each.urgency}>
          <Icon name={ICONS[each.kind] ?? 'warning'} />
          <div>
            <Subject concern={each} />
            <div>{each.text}</div>
            {each.since && !SAYS_SINCE.has(each.kind) && (
              <div className="dim">
                <Relative at={each.since} />
              </div>
            )}
          </div>
        </li>
      ))}
      {found.data.more && <li className="dim">There is more than is shown.</li>}
    </ul>
  )
}

function Subject({ concern }: { concern: Concern }) {
  const { schedule_id: id, kind, subject } = concern
  if (id && kind === 'failing')
    return (
      <Link to="/schedules/$id/runs" params={{ id }} search={{ run_state: 'FAILED' }} className={`text-link ${classes.subject}`}>
        {id}
      </Link>
    )
  if (id)
    return (
      <Link to="/schedules/$id" params={{ id }} className={`text-link ${classes.subject}`}>
        {id}
      </Link>
    )
  return (
    <Link to={kind === 'unserved_queue' ? '/queues' : '/instances'} className={`text-link ${classes.subject}`}>
      {subject}
    </Link>
  )
}
