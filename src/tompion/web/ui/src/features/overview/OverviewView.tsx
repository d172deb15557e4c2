import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { forecastQuery, statsQuery, upcomingQuery } from '../../api/queries'
import { PageHeader } from '../../components/PageHeader'
import { SegmentedRadio } from '../../components/SegmentedRadio'
import { ErrorState, Loading } from '../../components/states'
import { t } from '../../messages'
import { ActivityChart } from './ActivityChart'
import { mergeBuckets } from './buckets'
import { HeatMap } from './HeatMap'
import { InstanceList } from './InstanceList'
import { LoadSpikes } from './LoadSpikes'
import classes from './Overview.module.css'
import { Problems } from './Problems'
import { MAX_UPCOMING, TIME_RANGES } from './ranges'
import { StartDelayChart } from './StartDelayChart'
import { StatTiles } from './StatTiles'
import { UpcomingLanes } from './UpcomingLanes'

const route = getRouteApi('/')

/** The overview: past and upcoming activity, problems, load spikes and instances. */
export function OverviewView() {
  const { range = 'hour' } = route.useSearch()
  const navigate = route.useNavigate()
  const { seconds, buckets } = TIME_RANGES[range]
  const stats = useQuery(statsQuery(seconds, buckets))
  const upcoming = useQuery(upcomingQuery(seconds, MAX_UPCOMING))
  // The forecast is the most expensive request: it starts after those for the upper part of the view.
  const forecast = useQuery({ ...forecastQuery(), enabled: !stats.isPending && !upcoming.isPending })
  const upcomingBuckets = useMemo(
    () => forecast.data && mergeBuckets(forecast.data.buckets, seconds, buckets),
    [forecast.data, seconds, buckets],
  )
  return (
    <>
      <PageHeader title={t('nav.overview')}>
        <SegmentedRadio
          aria-label={t('common.timeRange')}
          value={range}
          onChange={(value) =>
            void navigate({ search: (all) => ({ ...all, range: value === 'day' ? 'day' : undefined }), replace: true })
          }
          data={[
            { value: 'hour', label: t('overview.hour') },
            { value: 'day', label: t('overview.day') },
          ]}
        />
      </PageHeader>
      {stats.isError && <ErrorState error={stats.error} onRetry={() => void stats.refetch()} />}
      <StatTiles stats={stats.data} upcoming={upcomingBuckets} range={t(`overview.${range}`)} />
      <div className={classes.grid}>
        <div className={classes.column}>
          <section className="panel" aria-label={t('overview.activity')}>
            <h2>{t(range === 'day' ? 'overview.activityDay' : 'overview.activityHour')}</h2>
            {stats.data ? (
              <ActivityChart stats={stats.data} upcoming={upcomingBuckets} seconds={seconds} />
            ) : (
              <Loading lines={4} />
            )}
            {upcoming.data ? <UpcomingLanes upcoming={upcoming.data} range={range} /> : <Loading lines={4} />}
          </section>
          <section className="panel" aria-label={t('overview.load')}>
            <h2>{t('overview.loadTitle')}</h2>
            {forecast.data ? (
              <HeatMap forecast={forecast.data} />
            ) : forecast.isError ? (
              <ErrorState error={forecast.error} onRetry={() => void forecast.refetch()} />
            ) : (
              <Loading lines={9} />
            )}
          </section>
          <section className="panel" aria-label={t('overview.startDelay')}>
            <h2>{t(range === 'day' ? 'overview.startDelayDay' : 'overview.startDelayHour')}</h2>
            {stats.data ? <StartDelayChart stats={stats.data} /> : <Loading lines={3} />}
          </section>
        </div>
        <div className={classes.column}>
          <section className="panel" aria-label={t('overview.problems')}>
            <h2>{t('overview.problems')}</h2>
            <Problems />
          </section>
          <section className="panel" aria-label={t('overview.spikes')}>
            <h2>{t('overview.spikes')}</h2>
            {forecast.data ? (
              <LoadSpikes forecast={forecast.data} />
            ) : forecast.isError ? (
              <p className={classes.empty}>{t('overview.unavailable')}</p>
            ) : (
              <Loading lines={3} />
            )}
          </section>
          <section className="panel" aria-label={t('nav.instances')}>
            <h2>{t('nav.instances')}</h2>
            <InstanceList />
          </section>
        </div>
      </div>
    </>
  )
}
