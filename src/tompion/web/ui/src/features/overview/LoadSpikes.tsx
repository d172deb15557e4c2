import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useIsAllowed } from '../../api/session'
import type { Forecast, LoadSpike } from '../../api/types'
import { Timestamp } from '../../components/Timestamp'
import { sentenceText } from '../../lib/format'
import { rich, t } from '../../messages'
import classes from './Overview.module.css'

const SpreadDialog = lazy(() => import('./SpreadDialog').then(({ SpreadDialog: module }) => ({ default: module })))

/** Minutes with far more runs than others, and an action that spreads them out. */
export function LoadSpikes({ forecast }: { forecast: Forecast }) {
  const [selectedSpike, setSelectedSpike] = useState<LoadSpike | null>(null)
  return (
    <>
      {forecast.spikes.length === 0 && <p className={classes.empty}>{t('spikes.none')}</p>}
      {forecast.spikes.map((spike) => (
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
  const canSpread = spike.groups.some((group) => group.jitter_ms !== null || group.hashed)
  return (
    <div className={classes.spike}>
      {rich('spikes.title', {
        at: (
          <strong>
            <Timestamp at={spike.start} precision="minute" short />
          </strong>
        ),
        runs: t('heat.runs', { count: spike.fires }),
      })}
      <ul>
        {spike.groups.map((group) => (
          <li key={group.example}>
            {rich('spikes.group', {
              schedule: (
                <Link to="/schedules/$id" params={{ id: group.example }} className="text-link">
                  {group.example}
                </Link>
              ),
              similar: group.schedules > 1 ? t('spikes.similar', { count: group.schedules - 1 }) : '',
              explanation: group.explanation,
            })}
          </li>
        ))}
      </ul>
      <p>{sentenceText(spike.advice)}</p>
      {mayEdit && canSpread && (
        <Button mt={6} variant="default" size="compact-xs" onClick={onSpread}>
          {t('spikes.spread')}
        </Button>
      )}
    </div>
  )
}
