import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'

import type { Forecast, LoadSpike } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { countText } from '../../lib/format'
import { Timestamp } from '../../components/Timestamp'
import classes from './Overview.module.css'

const SpreadDialog = lazy(() => import('./SpreadDialog').then(({ SpreadDialog: module }) => ({ default: module })))

/** Minutes in which far more fires than in others, and what would spread it. */
export function LoadSpikes({ forecast }: { forecast: Forecast }) {
  const [selectedSpike, setSelectedSpike] = useState<LoadSpike | null>(null)
  return (
    <>
      {forecast.herds.length === 0 && (
        <p className={classes.calm}>
          No minute of the next day is much busier than the others. If one were, it would stand here, with the schedules that
          make it so and what would spread them.
        </p>
      )}
      {forecast.herds.map((spike) => (
        <Spike key={spike.start} spike={spike} onSpread={() => setSelectedSpike(spike)} />
      ))}
      {selectedSpike && (
        <Suspense>
          <SpreadDialog spike={selectedSpike} onClose={() => setSelectedSpike(null)} />
        </Suspense>
      )}
    </>
  )
}

function Spike({ spike, onSpread }: { spike: LoadSpike; onSpread: () => void }) {
  const mayEdit = useIsAllowed('editor')
  const canSpread = spike.kin.some((group) => group.jitter_ms !== null || group.hashed)
  const scheduleCount = spike.kin.reduce((sum, group) => sum + group.schedules, 0)
  return (
    <div className={classes.herd}>
      <strong>
        <Timestamp at={spike.start} precision="minute" short />
      </strong>{' '}
      · {countText(spike.fires, 'fire')}
      <ul>
        {spike.kin.map((group) => (
          <li key={group.example}>
            <Link to="/schedules/$id" params={{ id: group.example }} className="text-link">
              {group.example}
            </Link>
            {group.schedules > 1 && ` and ${group.schedules - 1} like it`}: {group.explanation}
          </li>
        ))}
      </ul>
      <p>{spike.advice}</p>
      {mayEdit && canSpread && (
        <Button mt={6} variant="default" size="compact-xs" onClick={onSpread}>
          Spread {scheduleCount === 1 ? 'it' : 'them'}…
        </Button>
      )}
    </div>
  )
}
