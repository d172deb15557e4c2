import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

import { allComingQuery, forecastQuery, statsQuery } from '../../api/queries'
import { Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { Segments } from '../../components/SegmentedRadio'
import { Attention } from './Problems'
import { Figures } from './StatTiles'
import { cut } from './buckets'
import { HeatMap } from './HeatMap'
import { Herds } from './LoadSpikes'
import { Instances } from './InstanceList'
import { Lanes } from './UpcomingLanes'
import { Lateness } from './StartDelayChart'
import { COMING, SPANS } from './ranges'
import { Timeline } from './ActivityChart'
import classes from './Overview.module.css'

const route = getRouteApi('/')

/** Where everything stands: what was, what is to come, and what somebody should look at. */
export function Overview() {
  const { span = 'hour' } = route.useSearch()
  const navigate = route.useNavigate()
  const { seconds, stretches, name } = SPANS[span]
  const stats = useQuery(statsQuery(seconds, stretches))
  const coming = useQuery(allComingQuery(seconds, COMING))
  // It is the dearest of all questions: nothing waits for it, and it waits for what is seen first.
  const day = useQuery({ ...forecastQuery(), enabled: !stats.isPending && !coming.isPending })
  const ahead = useMemo(() => day.data && cut(day.data.stretches, seconds, stretches), [day.data, seconds, stretches])
  return (
    <>
      <PageHead title="Overview">
        <Segments
          aria-label="How far"
          value={span}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, span: value === 'day' ? 'day' : undefined }), replace: true })}
          data={[
            { value: 'hour', label: 'Hour' },
            { value: 'day', label: 'Day' },
          ]}
        />
      </PageHead>
      {stats.isError && <Wrong error={stats.error} onRetry={() => void stats.refetch()} />}
      <Figures stats={stats.data} ahead={ahead} name={name} />
      <div className={classes.grid}>
        <div className={classes.column}>
          <section className="panel" aria-label="Timeline">
            <h2>The last {name}, and the next</h2>
            {stats.data ? <Timeline stats={stats.data} ahead={ahead} seconds={seconds} /> : <Waiting lines={4} />}
            {coming.data ? <Lanes coming={coming.data} seconds={seconds} name={name} /> : <Waiting lines={4} />}
          </section>
          <section className="panel" aria-label="Fires per minute">
            <h2>Fires per minute, the next 24 hours</h2>
            {day.data ? <HeatMap forecast={day.data} /> : day.isError ? <Wrong error={day.error} onRetry={() => void day.refetch()} /> : <Waiting lines={9} />}
          </section>
          <section className="panel" aria-label="Lateness">
            <h2>How late runs started, the last {name}</h2>
            {stats.data ? <Lateness stats={stats.data} /> : <Waiting lines={3} />}
          </section>
        </div>
        <div className={classes.column}>
          <section className="panel" aria-label="What needs attention">
            <h2>What needs attention</h2>
            <Attention />
          </section>
          <section className="panel" aria-label="Herds">
            <h2>Herds</h2>
            {day.data ? <Herds forecast={day.data} /> : day.isError ? <p className={classes.calm}>Not known.</p> : <Waiting lines={3} />}
          </section>
          <section className="panel" aria-label="Instances">
            <h2>Instances</h2>
            <Instances />
          </section>
        </div>
      </div>
    </>
  )
}
