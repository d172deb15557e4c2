import { Button, Group, List, Loader, Menu, Select, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { memo, useState } from 'react'

import { unwrap, api } from '../../api/client'
import { queryKey } from '../../api/queries'
import type { ScheduleFilter, BulkResult } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { countText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { ErrorState } from '../../components/states'
import { PauseDialog } from '../../components/PauseDialog'
import { showError, showToast } from '../../components/toasts'

type BulkAction = 'pause' | 'resume' | 'trigger'
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
  state?: string
  workflow_id?: string
  user_id?: string
  label?: string
  text?: string
}

const ACTION_LABELS: Record<BulkAction, string> = { pause: 'Pause', resume: 'Resume', trigger: 'Trigger' }
const ACTION_RESULTS: Record<BulkAction, string> = { pause: 'paused', resume: 'resumed', trigger: 'triggered' }

/** Do something to many schedules: to those that are chosen, or to all that match; looked at first. */
export const BulkActions = memo(function BulkActions({ filter, filtered, selected, onDone }: Props) {
  const [action, setAction] = useState<BulkAction | null>(null)
  const selection: Selection = selected.size > 0 ? { schedule_ids: [...selected] } : filtered ? filter : { everything: true }
  const selectionText = selected.size > 0 ? `${countText(selected.size, 'chosen schedule')}` : filtered ? 'all that match' : 'all schedules'
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="down" size={12} />}>
            {selected.size > 0 ? `${selected.size} chosen` : 'Many at once'}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{selectionText}</Menu.Label>
          {(Object.keys(ACTION_LABELS) as BulkAction[]).map((option) => (
            <Menu.Item key={option} leftSection={<Icon name={option} />} onClick={() => setAction(option)}>
              {ACTION_LABELS[option]} {selectionText}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {action && <BulkDialog action={action} selection={selection} selectionText={selectionText} onClose={() => setAction(null)} onDone={onDone} />}
    </>
  )
})

function runBulk(action: BulkAction, body: Selection & Record<string, unknown>): Promise<BulkResult> {
  if (action === 'pause') return unwrap(api.POST('/api/v1/bulk/pause', { body }))
  if (action === 'resume') return unwrap(api.POST('/api/v1/bulk/resume', { body }))
  return unwrap(api.POST('/api/v1/bulk/trigger', { body }))
}

/** Ask again and again until every page was touched; what could not be is gathered. */
async function runBulkPages(action: BulkAction, selection: Selection, options: Record<string, unknown>): Promise<{ affected: number; failed: number }> {
  let [affected, failed] = [0, 0]
  let after: string | null = null
  do {
    const page: BulkResult = await runBulk(action, { ...selection, ...options, ...(selection.schedule_ids ? {} : { limit: BULK_PAGE_SIZE, ...(after ? { after } : {}) }) })
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
    queryFn: () => runBulk(action, { ...selection, dry_run: true, ...(selection.schedule_ids ? {} : { limit: BULK_PAGE_SIZE }) }),
    gcTime: 0,
    staleTime: 0,
  })
  const apply = useMutation({
    mutationFn: (options: Record<string, unknown>) => runBulkPages(action, selection, options),
    onSuccess: ({ affected, failed }) => {
      showToast(`${countText(affected, 'schedule')} ${ACTION_RESULTS[action]}${failed ? `, ${failed} refused` : ''}`)
      onDone()
      onClose()
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  if (isPausing)
    return <PauseDialog title={`Pause ${selectionText}`} onClose={onClose} busy={apply.isPending} onPause={(request) => apply.mutate({ ...request })} />
  const result = preview.data
  const countLabel = result && `${result.schedule_ids.length}${result.next_page ? ' and more' : ''}`
  return (
    <Dialog onClose={onClose} title={`${ACTION_LABELS[action]} ${selectionText}?`}>
      {preview.isPending && <Loader size="sm" aria-label="Loading" />}
      {preview.isError && <ErrorState error={preview.error} />}
      {result && (
        <>
          <Text>
            {countLabel} {result.schedule_ids.length === 1 && !result.next_page ? 'schedule' : 'schedules'} would be {ACTION_RESULTS[action]}
            {result.unchanged > 0 && `; ${result.unchanged} ${result.unchanged === 1 ? 'is' : 'are'} so already`}
            {result.refused.length > 0 && `; ${result.refused.length} cannot be`}.
          </Text>
          <List size="sm" mt="xs" className="mono" aria-label="Schedules that it touches">
            {result.schedule_ids.slice(0, 8).map((id) => (
              <List.Item key={id}>{id}</List.Item>
            ))}
          </List>
          {(result.schedule_ids.length > 8 || result.next_page) && <Text className="dim">…</Text>}
          {result.refused.slice(0, 5).map((failure) => (
            <Text key={failure.schedule_id} size="sm" c="red">
              {failure.schedule_id}: {failure.problem}
            </Text>
          ))}
          {action === 'resume' && (
            <Select
              mt="md"
              label="What becomes of the ticks of the pause"
              value={onResume}
              onChange={(value) => setOnResume(value ?? 'policy')}
              data={[
                { value: 'policy', label: "By each schedule's own policy" },
                { value: 'skip', label: 'Drop them' },
                { value: 'fire_once', label: 'Run once for all of them' },
              ]}
            />
          )}
        </>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          Do nothing
        </Button>
        <Button
          loading={apply.isPending}
          disabled={!result || result.schedule_ids.length === 0}
          onClick={() => {
            if (action === 'pause') setIsPausing(true)
            else apply.mutate(action === 'resume' && onResume !== 'policy' ? { on_resume: onResume } : {})
          }}
        >
          {action === 'pause' ? 'Go on…' : `${ACTION_LABELS[action]} them`}
        </Button>
      </Group>
    </Dialog>
  )
}
