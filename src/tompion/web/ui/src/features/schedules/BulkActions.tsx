import { Button, Group, List, Loader, Menu, Select, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { memo, useState } from 'react'
import { useRefresh } from '../../api/mutations'

import { queryKey } from '../../api/queries'
import { type BulkAction, runBulk } from '../../api/requests'
import type { BulkResult, ScheduleFilter } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { Icon } from '../../components/Icon'
import { PauseDialog } from '../../components/PauseDialog'
import { ErrorState } from '../../components/states'
import { showError, showToast } from '../../components/toasts'
import { t } from '../../messages'

const BULK_PAGE_SIZE = 100

interface Props {
  filter: ScheduleFilter
  filtered: boolean
  selected: ReadonlySet<string>
  onDone: () => void
}

interface Selection {
  schedule_ids?: string[]
  everything?: boolean
  status?: string
  workflow_id?: string
  user_id?: string
  label?: string
  text?: string
}

const MAX_SHOWN = 8
const MAX_REFUSED_SHOWN = 5
const MESSAGES = {
  pause: {
    label: 'bulk.pause',
    title: 'bulk.pauseTitle',
    preview: 'bulk.willBePaused',
    previewMany: 'bulk.manyWillBePaused',
    unchanged: 'bulk.alreadyPaused',
    refused: 'bulk.cannotBePaused',
    done: 'bulk.paused',
    confirm: 'bulk.continue',
  },
  resume: {
    label: 'bulk.resume',
    title: 'bulk.resumeTitle',
    preview: 'bulk.willBeResumed',
    previewMany: 'bulk.manyWillBeResumed',
    unchanged: 'bulk.alreadyResumed',
    refused: 'bulk.cannotBeResumed',
    done: 'bulk.resumed',
    confirm: 'common.resume',
  },
  trigger: {
    label: 'bulk.trigger',
    title: 'bulk.triggerTitle',
    preview: 'bulk.willBeTriggered',
    previewMany: 'bulk.manyWillBeTriggered',
    unchanged: 'bulk.alreadyTriggered',
    refused: 'bulk.cannotBeTriggered',
    done: 'bulk.triggered',
    confirm: 'common.runNow',
  },
} as const
const BULK_ACTIONS = Object.keys(MESSAGES) as BulkAction[]

/** Actions on many schedules: the selected ones, or all that match the filters. A dry run comes first. */
export const BulkActions = memo(function BulkActions({ filter, filtered, selected, onDone }: Props) {
  const [action, setAction] = useState<BulkAction | null>(null)
  const selection: Selection =
    selected.size > 0 ? { schedule_ids: [...selected] } : filtered ? filter : { everything: true }
  const selectionText =
    selected.size > 0
      ? t('schedules.selectedSchedules', { count: selected.size })
      : t(filtered ? 'schedules.allMatching' : 'schedules.all')
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="down" size={12} />}>
            {selected.size > 0 ? t('schedules.selected', { count: selected.size }) : t('schedules.bulk')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{selectionText}</Menu.Label>
          {BULK_ACTIONS.map((option) => (
            <Menu.Item key={option} leftSection={<Icon name={option} />} onClick={() => setAction(option)}>
              {t(MESSAGES[option].label, { selection: selectionText })}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {action && (
        <BulkDialog
          action={action}
          selection={selection}
          selectionText={selectionText}
          onClose={() => setAction(null)}
          onDone={onDone}
        />
      )}
    </>
  )
})

/** Apply an action page by page, and return the numbers of affected and refused schedules. */
async function runBulkPages(
  action: BulkAction,
  selection: Selection,
  options: Record<string, unknown>,
): Promise<{ affected: number; failed: number }> {
  let [affected, failed] = [0, 0]
  let after: string | null = null
  do {
    const page: BulkResult = await runBulk(action, {
      ...selection,
      ...options,
      ...(selection.schedule_ids ? {} : { limit: BULK_PAGE_SIZE, ...(after ? { after } : {}) }),
    })
    affected += page.schedule_ids.length
    failed += page.refused.length
    after = page.next_page
  } while (after)
  return { affected, failed }
}

interface BulkDialogProps {
  action: BulkAction
  selection: Selection
  selectionText: string
  onClose: () => void
  onDone: () => void
}

function BulkDialog({ action, selection, selectionText, onClose, onDone }: BulkDialogProps) {
  const refresh = useRefresh()
  const [onResume, setOnResume] = useState('policy')
  const [isPausing, setIsPausing] = useState(false)
  const preview = useQuery({
    queryKey: queryKey('bulk', action, selection),
    queryFn: () =>
      runBulk(action, { ...selection, dry_run: true, ...(selection.schedule_ids ? {} : { limit: BULK_PAGE_SIZE }) }),
    gcTime: 0,
    staleTime: 0,
  })
  const apply = useMutation({
    mutationFn: (options: Record<string, unknown>) => runBulkPages(action, selection, options),
    onSuccess: ({ affected, failed }) => {
      const done = t(MESSAGES[action].done, { count: affected })
      showToast(failed ? t('bulk.failed', { done, count: failed }) : done)
      onDone()
      onClose()
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  if (isPausing)
    return (
      <PauseDialog
        title={t('bulk.pause', { selection: selectionText })}
        onClose={onClose}
        busy={apply.isPending}
        onPause={(request) => apply.mutate({ ...request })}
      />
    )
  const result = preview.data
  return (
    <Dialog onClose={onClose} title={t(MESSAGES[action].title, { selection: selectionText })}>
      {preview.isPending && <Loader size="sm" aria-label={t('common.loading')} />}
      {preview.isError && <ErrorState error={preview.error} />}
      {result && (
        <>
          <Text>
            {t(result.next_page ? MESSAGES[action].previewMany : MESSAGES[action].preview, {
              count: result.schedule_ids.length,
            })}
            {result.unchanged > 0 && t(MESSAGES[action].unchanged, { count: result.unchanged })}
            {result.refused.length > 0 && t(MESSAGES[action].refused, { count: result.refused.length })}
          </Text>
          <List size="sm" mt="xs" className="mono" aria-label={t('bulk.affected')}>
            {result.schedule_ids.slice(0, MAX_SHOWN).map((id) => (
              <List.Item key={id}>{id}</List.Item>
            ))}
          </List>
          {(result.schedule_ids.length > MAX_SHOWN || result.next_page) && (
            <Text className="dim">{t('common.ellipsis')}</Text>
          )}
          {result.refused.slice(0, MAX_REFUSED_SHOWN).map((failure) => (
            <Text key={failure.schedule_id} size="sm" c="red">
              {t('bulk.failure', { id: failure.schedule_id, reason: failure.problem })}
            </Text>
          ))}
          {action === 'resume' && (
            <Select
              mt="md"
              label={t('bulk.missedRuns')}
              value={onResume}
              onChange={(value) => setOnResume(value ?? 'policy')}
              data={[
                { value: 'policy', label: t('bulk.byPolicy') },
                { value: 'skip', label: t('resume.skipAll') },
                { value: 'fire_once', label: t('resume.runOnce') },
              ]}
            />
          )}
        </>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          {t('common.cancel')}
        </Button>
        <Button
          loading={apply.isPending}
          disabled={!result || result.schedule_ids.length === 0}
          onClick={() => {
            if (action === 'pause') setIsPausing(true)
            else apply.mutate(action === 'resume' && onResume !== 'policy' ? { on_resume: onResume } : {})
          }}
        >
          {t(MESSAGES[action].confirm)}
        </Button>
      </Group>
    </Dialog>
  )
}
