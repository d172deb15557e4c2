import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'

import type { Forecast, Herd } from '../../api/types'
import { useMay } from '../../api/visit'
import { countText } from '../../parts/format'
import { Moment } from '../../parts/Moment'
import classes from './Overview.module.css'

const Spread = lazy(() => import('./Spread').then(({ Spread: each }) => ({ default: each })))

/** Minutes in which far more fires than in others, and what would spread it. */
export function Herds({ forecast }: { forecast: Forecast }) {
  if (forecast.herds.length === 0)
    return (
      <p className={classes.calm}>
        No minute of the next day is much busier than the others. If one were, it would stand here, with the schedules that
        make it so and the jitter that would spread them.
      </p>
    )
  return forecast.herds.map((herd) => <One key={herd.start} herd={herd} />)
}

function One({ herd }: { herd: Herd }) {
  const mayEdit = useMay('editor')
  const [spreading, setSpreading] = useState(false)
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
        <Button mt={6} variant="default" size="compact-xs" onClick={() => setSpreading(true)}>
          Spread {kin === 1 ? 'it' : 'them'}…
        </Button>
      )}
      {spreading && (
        <Suspense>
          <Spread herd={herd} onClose={() => setSpreading(false)} />
        </Suspense>
      )}
    </div>
  )
}
