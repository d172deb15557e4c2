import { Badge, Button, Group, Menu, ActionIcon, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { descriptionQuery } from '../../api/queries'
import { useScheduleSummary, useListedSchedule } from '../../api/cache'
import type { ScheduleDescription, ScheduleSummary, Schedule as ScheduleRecord } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useScheduleActions } from '../../api/refresh'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { ScheduleBadges } from '../../components/ScheduleBadges'
import { useScheduleMutation } from '../../api/mutations'
import { DescriptionList } from '../../components/DescriptionList'
import { Icon } from '../../components/Icon'
import { Timestamp, RelativeTime } from '../../components/Timestamp'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { Sparkline } from '../../components/outcomes'
import { useTitle } from '../../components/PageHeader'
import { PauseDialog } from '../../components/PauseDialog'
import { ResumeDialog } from '../../components/ResumeDialog'
import { ApiError } from '../../api/errors'
import classes from './Schedule.module.css'

const route = getRouteApi('/schedules/$id')

const TABS = [
  { to: '/schedules/$id', name: 'Ticks' },
  { to: '/schedules/$id/runs', name: 'Runs' },
  { to: '/schedules/$id/timeline', name: 'Timeline' },
  { to: '/schedules/$id/versions', name: 'Versions' },
  { to: '/schedules/$id/backfills', name: 'Backfills' },
  { to: '/schedules/$id/adaptive', name: 'Adaptive' },
  { to: '/schedules/$id/audit', name: 'Audit' },
  { to: '/schedules/$id/json', name: 'JSON' },
] as const

/** One schedule: what it is, what it does, and everything about it under its tabs. */
export function ScheduleView() {
  const { id } = route.useParams()
  useTitle(id)
  const description = useQuery(descriptionQuery(id))
  const listedSchedule = useListedSchedule(id)
  const summary = useScheduleSummary(id)
  if (description.isError && !description.data) {
    if (description.error instanceof ApiError && description.error.status === 404)
      return (
        <EmptyState title={`There is no schedule ${id}`}>
          It may have been purged, or it is in another namespace.{' '}
          <Link to="/schedules" className="text-link">
            All schedules
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
      <nav className={classes.tabs} aria-label="About this schedule">
        {TABS.filter((tab) => tab.name !== 'Adaptive' || description.data?.outlook).map((tab) => (
          <Link
            key={tab.to}
            to={tab.to}
            params={{ id }}
            className={classes.tab}
            activeOptions={{ exact: true, includeSearch: false }}
            activeProps={{ className: classes.here, 'aria-current': 'page' }}
          >
            {tab.name}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  )
}

interface HeaderProps {
  schedule: ScheduleRecord
  /** What is known beyond what a list shows. */
  description: ScheduleDescription | undefined
}

function ScheduleHeader({ schedule, description, summary }: HeaderProps & { summary: ScheduleSummary | undefined }) {
  const { definition, counters } = schedule
  const zone = summary?.timezone ?? definition.spec?.timezone ?? 'UTC'
  const labels = Object.entries((definition.labels ?? {}) as Record<string, string>)
  const next = schedule.next_fire_at ?? schedule.next_run_at
  return (
    <header className={`panel ${classes.head}`}>
      <div className={classes.top}>
        <div className={classes.names}>
          <Group gap="xs">
            <Title order={1}>{schedule.schedule_id}</Title>
            {schedule.state === 'active' && <Badge color="verdigris">active</Badge>}
            <ScheduleBadges schedule={schedule} zone={zone} isTargetPaused={summary?.target_paused} />
          </Group>
          <Text className={classes.explanation}>{summary?.explanation ?? '…'}</Text>
          {definition.description && <Text className="dim">{definition.description}</Text>}
          {schedule.state === 'paused' && <PauseDetails schedule={schedule} zone={zone} />}
          {labels.length > 0 && (
            <Group gap={4} mt={6} role="group" aria-label="Labels">
              {labels.map(([name, value]) => (
                <Link key={name} to="/schedules" search={{ label: `${name}=${value}` }} className={classes.label}>
                  {name}={value}
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
            schedule.state === 'paused' ? 'Next, if resumed' : 'Next fire',
            next ? (
              <>
                <Timestamp at={next} zone={zone} short /> <span className="dim">{schedule.state !== 'paused' && <RelativeTime at={next} />}</span>
              </>
            ) : (
              'nothing to come'
            ),
          ],
          ['Newest outcomes', <Sparkline summary={summary} zone={zone} />],
          ['In flight', schedule.in_flight ? String(schedule.in_flight) : null],
          ['Waiting', schedule.waiting ? String(schedule.waiting) : null],
          ['Runs', definition.workflow_id ?? definition.function],
          ['Queue', definition.queue === 'default' ? null : definition.queue],
          ['Time zone', zone],
          ['Overlap', definition.overlap_policy ?? 'skip'],
          ['Catch-up', definition.catchup_policy ?? 'none'],
          ['User', definition.user_id],
          ['Remaining', schedule.remaining_actions === null ? null : String(schedule.remaining_actions)],
          [
            'So far',
            `${counters.successes} succeeded · ${counters.failures} failed · ${counters.skipped} skipped · ${counters.missed} missed`,
          ],
        ]}
      />
    </header>
  )
}

/** By whom it was paused, since when, until when and why. */
function PauseDetails({ schedule, zone }: { schedule: ScheduleRecord; zone: string }) {
  return (
    <Text className="dim">
      Paused by {schedule.paused_by ?? 'somebody'}
      {schedule.paused_at && (
        <>
          {' since '}
          <Timestamp at={schedule.paused_at} zone={zone} precision="minute" />
        </>
      )}
      {schedule.paused_until ? (
        <>
          , until <Timestamp at={schedule.paused_until} zone={zone} precision="minute" />
        </>
      ) : (
        ', until somebody resumes it'
      )}
      {schedule.pause_note && <>: “{schedule.pause_note}”</>}
    </Text>
  )
}

function ScheduleActions({ schedule, description, zone }: HeaderProps & { zone: string }) {
  const { pause, resume, trigger, remove } = useScheduleActions(schedule.schedule_id)
  const mutation = useScheduleMutation()
  const [openDialog, setOpenDialog] = useState<'pause' | 'resume' | 'delete' | null>(null)
  const mayOperate = useIsAllowed('operator')
  const mayEdit = useIsAllowed('editor')
  const close = () => setOpenDialog(null)
  const isClosed = schedule.state === 'closed' || schedule.state === 'damaged'
  if (!mayOperate || (isClosed && !openDialog)) return null  // what somebody is asked is not taken away unanswered
  return (
    <div className={classes.actions}>
      {schedule.state === 'paused' ? (
        <Button leftSection={<Icon name="resume" />} onClick={() => setOpenDialog('resume')}>
          Resume
        </Button>
      ) : (
        <Button variant="default" leftSection={<Icon name="pause" />} onClick={() => setOpenDialog('pause')}>
          Pause
        </Button>
      )}
      <Button variant="default" leftSection={<Icon name="trigger" />} loading={trigger.isPending} onClick={() => trigger.mutate()}>
        Trigger now
      </Button>
      {mayEdit && (
        <Button
          renderRoot={(props) => <Link {...props} to="/schedules/$id/edit" params={{ id: schedule.schedule_id }} />}
          variant="default"
          leftSection={<Icon name="edit" />}
        >
          Edit
        </Button>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="More actions">
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<Icon name="skip" />}
            disabled={!schedule.next_run_at}
            onClick={() => mutation.mutate({ action: 'skip', id: schedule.schedule_id, at: schedule.next_run_at })}
          >
            Skip the next tick
          </Menu.Item>
          {mayEdit && (
            <Menu.Item
              renderRoot={(props) => <Link {...props} to="/new" search={{ from: schedule.schedule_id }} />}
              leftSection={<Icon name="copy" />}
            >
              Duplicate
            </Menu.Item>
          )}
          {mayEdit && (
            <Menu.Item color="red" leftSection={<Icon name="trash" />} onClick={() => setOpenDialog('delete')}>
              Delete…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {openDialog === 'pause' && (
        <PauseDialog
          title={`Pause ${schedule.schedule_id}`}
          zone={zone}
          onClose={close}
          busy={pause.isPending}
          onPause={(request) => pause.mutate(request, { onSuccess: close })}
        />
      )}
      {openDialog === 'delete' && (
        <ConfirmDialog
          title={`Delete ${schedule.schedule_id}?`}
          confirmLabel="Delete it"
          isDangerous
          busy={remove.isPending}
          onConfirm={() => remove.mutate(undefined, { onSuccess: close })}
          onClose={close}
        >
          <p>It has no more ticks, and what waits is not started any more. What is running now may end.</p>
          <p>Its runs, versions and audit stay, and can be looked at, until their retention ends.</p>
        </ConfirmDialog>
      )}
      {openDialog === 'resume' && description && (
        <ResumeDialog
          description={description}
          zone={zone}
          busy={resume.isPending}
          onClose={close}
          onResume={(onResume) => resume.mutate(onResume, { onSuccess: close })}
        />
      )}
    </div>
  )
}
