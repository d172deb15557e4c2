import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { problemsQuery } from '../../api/queries'
import type { DetectedProblem } from '../../api/types'
import { Icon, type IconName } from '../../components/Icon'
import { ErrorState, Loading } from '../../components/states'
import { RelativeTime } from '../../components/Timestamp'
import { sentenceText } from '../../lib/format'
import { t } from '../../messages'
import classes from './Overview.module.css'

const ICONS: Record<string, IconName> = {
  forgotten_pause: 'pause',
  missed: 'clock',
  stuck: 'runs',
  buffer: 'menu',
  no_engine: 'instances',
  overloaded: 'instances',
  skewed_clock: 'clock',
  clock_set_back: 'clock',
  unserved_queue: 'targets',
}

/** Problems whose text contains their duration. */
const KINDS_WITH_DURATION = new Set(['forgotten_pause'])

/** The current problems, the most urgent first, with links. */
export function Problems() {
  const query = useQuery(problemsQuery())
  if (query.isPending) return <Loading lines={4} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (query.data.problems.length === 0) return <p className={classes.empty}>{t('problems.none')}</p>
  return (
    <ul className={classes.problems}>
      {query.data.problems.map((item) => (
        <li key={`${item.kind} ${item.subject}`} data-urgency={item.urgency}>
          <Icon name={ICONS[item.kind] ?? 'warning'} />
          <div>
            <ProblemLink problem={item} />
            <div>{sentenceText(item.text)}</div>
            {item.since && !KINDS_WITH_DURATION.has(item.kind) && (
              <div className="dim">
                <RelativeTime at={item.since} />
              </div>
            )}
          </div>
        </li>
      ))}
      {query.data.more && <li className="dim">{t('problems.more', { count: query.data.problems.length })}</li>}
    </ul>
  )
}

function ProblemLink({ problem }: { problem: DetectedProblem }) {
  const { schedule_id: id, kind, subject } = problem
  if (id && kind === 'failing')
    return (
      <Link
        to="/schedules/$id/runs"
        params={{ id }}
        search={{ run_status: 'FAILED' }}
        className={`text-link ${classes.subject}`}
      >
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
