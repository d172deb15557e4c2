import { ActionIcon, Badge, Button, Group, Menu, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet } from '@tanstack/react-router'
import { useState } from 'react'
import { useListedSchedule, useScheduleSummary } from '../../api/cache'
import { ApiError } from '../../api/errors'
import { useScheduleMutations } from '../../api/mutations'
import { descriptionQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import type { ScheduleDescription, Schedule as ScheduleRecord, ScheduleSummary } from '../../api/types'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { DescriptionList } from '../../components/DescriptionList'
import { Icon } from '../../components/Icon'
import { Sparkline } from '../../components/outcomes'
import { useTitle } from '../../components/PageHeader'
import { PauseDialog } from '../../components/PauseDialog'
import { ResumeDialog } from '../../components/ResumeDialog'
import { pausedText, ScheduleBadges } from '../../components/ScheduleBadges'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { RelativeTime, Timestamp } from '../../components/Timestamp'
import { targetText } from '../../lib/target'
import { codeText, numberText, rich, t } from '../../messages'
import classes from './Schedule.module.css'

const route = getRouteApi('/schedules/$id')

const TABS = [
  { to: '/schedules/$id', name: 'schedule.tabCalendar' },
  { to: '/schedules/$id/runs', name: 'schedule.tabRuns' },
  { to: '/schedules/$id/timeline', name: 'schedule.tabTimeline' },
  { to: '/schedules/$id/versions', name: 'schedule.tabVersions' },
  { to: '/schedules/$id/backfills', name: 'schedule.tabBackfills' },
  { to: '/schedules/$id/adaptive', name: 'schedule.tabAdaptive' },
  { to: '/schedules/$id/audit', name: 'schedule.tabHistory' },
  { to: '/schedules/$id/json', name: 'schedule.tabJson' },
] as const

/** One schedule: its status and settings, its actions, and tabs for the details. */
export function ScheduleView() {
  const { id } = route.useParams()
  useTitle(id)
  const description = useQuery(descriptionQuery(id))
  const listedSchedule = useListedSchedule(id)
  const summary = useScheduleSummary(id)
  if (description.isError && !description.data) {
    if (description.error instanceof ApiError && description.error.status === 404)
      return (
        <EmptyState title={t('schedule.notFound', { id })}>
          {t('schedule.notFoundHelp')}{' '}
          <Link to="/schedules" className="text-link">
            {t('common.seeSchedules')}
          </Link>
        </EmptyState>
      )
    return <ErrorState error={description.error} onRetry={() => void description.refetch()} />
  }
  const schedule = description.data?.schedule ?? listedSchedule
  if (!schedule) return <Loading lines={8} />
  return (
    <>
      <ScheduleHeader schedule={schedule} description={description.data} summary={summary} />
      <nav className={classes.tabs} aria-label={t('schedule.sections')}>
        {TABS.filter((tab) => tab.name !== 'schedule.tabAdaptive' || description.data?.outlook).map((tab) => (
          <Link
            key={tab.to}
            to={tab.to}
            params={{ id }}
            className={classes.tab}
            activeOptions={{ exact: true, includeSearch: false }}
            activeProps={{ className: classes.active, 'aria-current': 'page' }}
          >
            {t(tab.name)}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  )
}

interface HeaderProps {
  schedule: ScheduleRecord
  /** The details that a list does not have. */
  description: ScheduleDescription | undefined
}

function ScheduleHeader({ schedule, description, summary }: HeaderProps & { summary: ScheduleSummary | undefined }) {
  const { counters } = schedule
  const zone = summary?.timezone ?? schedule.timezone ?? 'UTC'
  const labels = Object.entries((schedule.labels ?? {}) as Record<string, string>)
  const next = schedule.next_fire_at ?? schedule.next_run_at
  return (
    <header className={`panel ${classes.head}`}>
      <div className={classes.top}>
        <div className={classes.names}>
          <Group gap="xs">
            <Title order={1}>{schedule.schedule_id}</Title>
            {schedule.status === 'active' && <Badge color="verdigris">{t('scheduleState.active')}</Badge>}
            <ScheduleBadges schedule={schedule} zone={zone} isTargetPaused={summary?.target_paused} />
          </Group>
          <Text className={classes.explanation}>{summary?.explanation ?? '…'}</Text>
          {schedule.description && <Text className="dim">{schedule.description}</Text>}
          {schedule.status === 'paused' && <PauseDetails schedule={schedule} zone={zone} />}
          {labels.length > 0 && (
            <Group gap={4} mt={6} role="group" aria-label={t('schedule.labels')}>
              {labels.map(([name, value]) => (
                <Link key={name} to="/schedules" search={{ label: `${name}=${value}` }} className={classes.label}>
                  {`${name}=${value}`}
                </Link>
              ))}
            </Group>
          )}
        </div>
        <ScheduleActions schedule={schedule} description={description} zone={zone} />
      </div>
      <DescriptionList
        items={[
          [
            t(schedule.status === 'paused' ? 'schedule.nextRunPaused' : 'schedule.nextRun'),
            next ? (
              <>
                <Timestamp at={next} zone={zone} short />{' '}
                <span className="dim">{schedule.status !== 'paused' && <RelativeTime at={next} />}</span>
              </>
            ) : (
              t('schedules.noUpcoming')
            ),
          ],
          [t('schedule.recentRuns'), <Sparkline key="recent" summary={summary} zone={zone} />],
          [t('schedule.running'), schedule.in_flight ? numberText(schedule.in_flight) : null],
          [t('schedule.queued'), schedule.waiting ? numberText(schedule.waiting) : null],
          [t('schedule.action'), targetText(schedule)],
          [t('common.queue'), schedule.queue === 'default' ? null : schedule.queue],
          [t('common.timeZone'), zone],
          [t('schedule.overlapPolicy'), codeText('overlap', schedule.overlap_policy ?? 'skip')],
          [t('schedule.catchupPolicy'), codeText('catchup', schedule.catchup_policy ?? 'none')],
          [t('schedule.owner'), schedule.user_id],
          [
            t('schedule.remainingRuns'),
            schedule.remaining_actions === null ? null : numberText(schedule.remaining_actions),
          ],
          [
            t('schedule.total'),
            t('schedule.totals', {
              successes: counters.successes,
              failures: counters.failures,
              skipped: counters.skipped,
              missed: counters.missed,
            }),
          ],
        ]}
      />
    </header>
  )
}

/** The actor, the time, the end and the reason of a pause. */
function PauseDetails({ schedule, zone }: { schedule: ScheduleRecord; zone: string }) {
  return (
    <Text className="dim">
      {pausedText(schedule)}
      {schedule.paused_at &&
        rich('pauseDetails.on', { at: <Timestamp at={schedule.paused_at} zone={zone} precision="minute" /> })}
      {schedule.paused_until
        ? rich('pauseDetails.resumes', {
            at: <Timestamp at={schedule.paused_until} zone={zone} precision="minute" />,
          })
        : t('pauseDetails.untilResumed')}
      {schedule.note && t('pauseDetails.note', { note: schedule.note })}
    </Text>
  )
}

function ScheduleActions({ schedule, description, zone }: HeaderProps & { zone: string }) {
  const id = schedule.schedule_id
  const mutation = useScheduleMutations()
  const pendingAction = mutation.isPending ? mutation.variables.action : undefined
  const [openDialog, setOpenDialog] = useState<'pause' | 'resume' | 'delete' | null>(null)
  const mayOperate = useIsAllowed('operator')
  const mayEdit = useIsAllowed('editor')
  const close = () => setOpenDialog(null)
  const isClosed = schedule.status === 'closed' || schedule.status === 'damaged'
  if (!mayOperate || (isClosed && !openDialog)) return null // an open dialog stays open when the schedule is closed
  return (
    <div className={classes.actions}>
      {schedule.status === 'paused' ? (
        <Button leftSection={<Icon name="resume" />} onClick={() => setOpenDialog('resume')}>
          {t('common.resume')}
        </Button>
      ) : (
        <Button variant="default" leftSection={<Icon name="pause" />} onClick={() => setOpenDialog('pause')}>
          {t('common.pause')}
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<Icon name="trigger" />}
        loading={pendingAction === 'trigger'}
        onClick={() => mutation.mutate({ action: 'trigger', id })}
      >
        {t('common.runNow')}
      </Button>
      {mayEdit && (
        <Button
          renderRoot={(props) => <Link {...props} to="/schedules/$id/edit" params={{ id }} />}
          variant="default"
          leftSection={<Icon name="edit" />}
        >
          {t('common.edit')}
        </Button>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={t('schedule.moreActions')}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<Icon name="skip" />}
            disabled={!schedule.next_run_at}
            onClick={() => mutation.mutate({ action: 'skip', id, at: schedule.next_run_at })}
          >
            {t('schedule.skipNext')}
          </Menu.Item>
          {mayEdit && (
            <Menu.Item
              renderRoot={(props) => <Link {...props} to="/new" search={{ from: id }} />}
              leftSection={<Icon name="copy" />}
            >
              {t('schedule.duplicate')}
            </Menu.Item>
          )}
          {mayEdit && (
            <Menu.Item color="red" leftSection={<Icon name="trash" />} onClick={() => setOpenDialog('delete')}>
              {t('schedule.deleteMore')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {openDialog === 'pause' && (
        <PauseDialog
          title={t('pause.title', { id })}
          zone={zone}
          onClose={close}
          busy={pendingAction === 'pause'}
          onPause={(pause) => mutation.mutate({ action: 'pause', id, pause }, { onSuccess: close })}
        />
      )}
      {openDialog === 'delete' && (
        <ConfirmDialog
          title={t('schedule.deleteTitle', { id })}
          confirmLabel={t('common.delete')}
          isDangerous
          busy={pendingAction === 'delete'}
          onConfirm={() => mutation.mutate({ action: 'delete', id }, { onSuccess: close })}
          onClose={close}
        >
          <p>{t('schedule.deleteHelp')}</p>
          <p>{t('schedule.deleteHistory')}</p>
        </ConfirmDialog>
      )}
      {openDialog === 'resume' && description && (
        <ResumeDialog
          description={description}
          zone={zone}
          busy={pendingAction === 'resume'}
          onClose={close}
          onResume={(onResume) => mutation.mutate({ action: 'resume', id, onResume }, { onSuccess: close })}
        />
      )}
    </div>
  )
}
