import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'

import type { Forecast, Herd } from '../../api/types'
import { useMay } from '../../api/session'
import { countText } from '../../lib/format'
import { Moment } from '../../components/Timestamp'
import classes from './Overview.module.css'

const Spread = lazy(() => import('./SpreadDialog').then(({ Spread: each }) => ({ default: each })))

/** Minutes in which far more fires than in others, and what would spread it. */
export function Herds({ forecast }: { forecast: Forecast }) {
  const [spreading, setSpreading] = useState<Herd | null>(null)
  return (
    <>
      {forecast.herds.length === 0 && (
        <p className={classes.calm}>
          No minute of the next day is much busier than the others. If one were, it would stand here, with the schedules that
          make it so and what would spread them.
        </p>
      )}
      {forecast.herds.map((herd) => (
        <One key={herd.start} herd={herd} onSpread={() => setSpreading(herd)} />
      ))}
      {spreading && (
        <Suspense>
          <Spread herd={spreading} onClose={() => setSpreading(null)} />
        </Suspense>
      )}
    </>
  )
}

function One({ herd, onSpread }: { herd: Herd; onSpread: () => void }) {
  const mayEdit = useMay('editor')
  const some = herd.kin.some((each) => each.jitter_ms !== null || each.hashed)
  const kin = herd.kin.reduce((sum, each) => sum + each.schedules, 0)
  return (
    <div className={classes.herd}>
      <strong>
        <Moment at={herd.start} precision="minute" near />
      </strong>{' '}
      · {countText(herd.fires, 'fire')}
      <ul>
        {herd.kin.map((each) => (
          <li key={each.example}>
            <Link to="/schedules/$id" params={{ id: each.example }} className="text-link">
              {each.example}
            </Link>
            {each.schedules > 1 && ` and ${each.schedules - 1} like it`}: {each.explanation}
          </li>
        ))}
      </ul>
      <p>{herd.advice}</p>
      {mayEdit && some && (
        <Button mt={6} variant="default" size="compact-xs" onClick={onSpread}>
          Spread {kin === 1 ? 'it' : 'them'}…
        </Button>
      )}
    </div>
  )
}
