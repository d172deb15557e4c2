import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

import { upcomingQuery, forecastQuery, statsQuery } from '../../api/queries'
import { Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { Problems } from './Problems'
import { StatTiles } from './StatTiles'
import { mergeBuckets } from './buckets'
import { HeatMap } from './HeatMap'
import { LoadSpikes } from './LoadSpikes'
import { InstanceList } from './InstanceList'
import { UpcomingLanes } from './UpcomingLanes'
import { StartDelayChart } from './StartDelayChart'
import { MAX_UPCOMING, TIME_RANGES } from './ranges'
import { ActivityChart } from './ActivityChart'
import classes from './Overview.module.css'

const route = getRouteApi('/')

/** Where everything stands: what was, what is to come, and what somebody should look at. */
export function OverviewView() {
  const { span = 'hour' } = route.useSearch()
  const navigate = route.useNavigate()
  const { seconds, stretches: buckets, name } = TIME_RANGES[span]
  const stats = useQuery(statsQuery(seconds, buckets))
  const upcoming = useQuery(upcomingQuery(seconds, MAX_UPCOMING))
  // It is the dearest of all questions: nothing waits for it, and it waits for what is seen first.
  const forecast = useQuery({ ...forecastQuery(), enabled: !stats.isPending && !upcoming.isPending })
  const upcomingBuckets = useMemo(() => forecast.data && mergeBuckets(forecast.data.stretches, seconds, buckets), [forecast.data, seconds, buckets])
  return (
    <>
      <PageHeader title="Overview">
        <SegmentedRadio
          aria-label="How far"
          value={span}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, span: value === 'day' ? 'day' : undefined }), replace: true })}
          data={[
            { value: 'hour', label: 'Hour' },
            { value: 'day', label: 'Day' },
          ]}
        />
      </PageHeader>
      {stats.isError && <ErrorState error={stats.error} onRetry={() => void stats.refetch()} />}
      <StatTiles stats={stats.data} upcoming={upcomingBuckets} name={name} />
      <div className={classes.grid}>
        <div className={classes.column}>
          <section className="panel" aria-label="Timeline">
            <h2>The last {name}, and the next</h2>
            {stats.data ? <ActivityChart stats={stats.data} upcoming={upcomingBuckets} seconds={seconds} /> : <Loading lines={4} />}
            {upcoming.data ? <UpcomingLanes upcoming={upcoming.data} seconds={seconds} name={name} /> : <Loading lines={4} />}
          </section>
          <section className="panel" aria-label="Fires per minute">
            <h2>Fires per minute, the next 24 hours</h2>
            {forecast.data ? <HeatMap forecast={forecast.data} /> : forecast.isError ? <ErrorState error={forecast.error} onRetry={() => void forecast.refetch()} /> : <Loading lines={9} />}
          </section>
          <section className="panel" aria-label="Lateness">
            <h2>How late runs started, the last {name}</h2>
            {stats.data ? <StartDelayChart stats={stats.data} /> : <Loading lines={3} />}
          </section>
        </div>
        <div className={classes.column}>
          <section className="panel" aria-label="What needs attention">
            <h2>What needs attention</h2>
            <Problems />
          </section>
          <section className="panel" aria-label="Herds">
            <h2>Herds</h2>
            {forecast.data ? <LoadSpikes forecast={forecast.data} /> : forecast.isError ? <p className={classes.calm}>Not known.</p> : <Loading lines={3} />}
          </section>
          <section className="panel" aria-label="Instances">
            <h2>Instances</h2>
            <InstanceList />
          </section>
        </div>
      </div>
    </>
  )
}
