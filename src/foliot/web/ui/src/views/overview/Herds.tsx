import { Button } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'

import type { Forecast, Herd } from '../../api/types'
import { useMay } from '../../api/visit'
import { countText } from '../../parts/format'
import { Moment } from '../../parts/Moment'
import classes from './Overview.module.css'

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
  const navigate = useNavigate()
  const mayEdit = useMay('editor')
  const first = herd.kin.find((each) => each.jitter_ms !== null)
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
      {mayEdit && first && (
        <Button
          mt={6}
          variant="default"
          size="compact-xs"
          onClick={() => void navigate({ to: '/schedules/$id/edit', params: { id: first.example }, search: { jitter_ms: first.jitter_ms ?? undefined } })}
        >
          Spread {first.example}…
        </Button>
      )}
      {mayEdit && first && first.schedules > 1 && (
        <p className={classes.about}>
          This edits {first.example} alone; {first.schedules === 2 ? 'the other one' : `the ${first.schedules - 1} others`} like it
          {first.schedules === 2 ? ' needs' : ' need'} the same.
        </p>
      )}
    </div>
  )
}
