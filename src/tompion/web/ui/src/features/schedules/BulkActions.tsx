import { Button, Group, List, Loader, Menu, Select, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { memo, useState } from 'react'

import { answer, api } from '../../api/client'
import { key } from '../../api/queries'
import type { ScheduleFilter, Touched } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { countText } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { Wrong } from '../../components/states'
import { PauseDialog } from '../../components/PauseDialog'
import { complain, say } from '../../components/toasts'

type Deed = 'pause' | 'resume' | 'trigger'
const AT_ONCE = 100

interface Props {
  filter: ScheduleFilter
  filtered: boolean
  chosen: ReadonlySet<string>
  onDone: () => void
}

interface Which {
  schedule_ids?: string[]
  everything?: boolean
  state?: string
  workflow_id?: string
  user_id?: string
  label?: string
  text?: string
}

const NAMES: Record<Deed, string> = { pause: 'Pause', resume: 'Resume', trigger: 'Trigger' }
const DONE: Record<Deed, string> = { pause: 'paused', resume: 'resumed', trigger: 'triggered' }

/** Do something to many schedules: to those that are chosen, or to all that match; looked at first. */
export const Bulk = memo(function Bulk({ filter, filtered, chosen, onDone }: Props) {
  const [deed, setDeed] = useState<Deed | null>(null)
  const which: Which = chosen.size > 0 ? { schedule_ids: [...chosen] } : filtered ? filter : { everything: true }
  const about = chosen.size > 0 ? `${countText(chosen.size, 'chosen schedule')}` : filtered ? 'all that match' : 'all schedules'
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="down" size={12} />}>
            {chosen.size > 0 ? `${chosen.size} chosen` : 'Many at once'}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{about}</Menu.Label>
          {(Object.keys(NAMES) as Deed[]).map((each) => (
            <Menu.Item key={each} leftSection={<Icon name={each} />} onClick={() => setDeed(each)}>
              {NAMES[each]} {about}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {deed && <Preview deed={deed} which={which} about={about} onClose={() => setDeed(null)} onDone={onDone} />}
    </>
  )
})

function ask(deed: Deed, body: Which & Record<string, unknown>): Promise<Touched> {
  if (deed === 'pause') return answer(api.POST('/api/v1/bulk/pause', { body }))
  if (deed === 'resume') return answer(api.POST('/api/v1/bulk/resume', { body }))
  return answer(api.POST('/api/v1/bulk/trigger', { body }))
}

/** Ask again and again until every page was touched; what could not be is gathered. */
async function askAll(deed: Deed, which: Which, more: Record<string, unknown>): Promise<{ touched: number; refused: number }> {
  let [touched, refused] = [0, 0]
  let after: string | null = null
  do {
    const page: Touched = await ask(deed, { ...which, ...more, ...(which.schedule_ids ? {} : { limit: AT_ONCE, ...(after ? { after } : {}) }) })
    touched += page.schedule_ids.length
    refused += page.refused.length
    after = page.next_page
  } while (after)
  return { touched, refused }
}

interface PreviewProps {
  deed: Deed
  which: Which
  about: string
  onClose: () => void
  onDone: () => void
}

function Preview({ deed, which, about, onClose, onDone }: PreviewProps) {
  const refresh = useRefresh()
  const [onResume, setOnResume] = useState('policy')
  const [pausing, setPausing] = useState(false)
  const preview = useQuery({
    queryKey: key('bulk', deed, which),
    queryFn: () => ask(deed, { ...which, dry_run: true, ...(which.schedule_ids ? {} : { limit: AT_ONCE }) }),
    gcTime: 0,
    staleTime: 0,
  })
  const act = useMutation({
    mutationFn: (more: Record<string, unknown>) => askAll(deed, which, more),
    onSuccess: ({ touched, refused }) => {
      say(`${countText(touched, 'schedule')} ${DONE[deed]}${refused ? `, ${refused} refused` : ''}`)
      onDone()
      onClose()
    },
    onError: complain,
    onSettled: () => refresh(),
  })
  if (pausing)
    return <PauseDialog title={`Pause ${about}`} onClose={onClose} busy={act.isPending} onPause={(request) => act.mutate({ ...request })} />
  const found = preview.data
  const many = found && `${found.schedule_ids.length}${found.next_page ? ' and more' : ''}`
  return (
    <Dialog onClose={onClose} title={`${NAMES[deed]} ${about}?`}>
      {preview.isPending && <Loader size="sm" aria-label="Loading" />}
      {preview.isError && <Wrong error={preview.error} />}
      {found && (
        <>
          <Text>
            {many} {found.schedule_ids.length === 1 && !found.next_page ? 'schedule' : 'schedules'} would be {DONE[deed]}
            {found.unchanged > 0 && `; ${found.unchanged} ${found.unchanged === 1 ? 'is' : 'are'} so already`}
            {found.refused.length > 0 && `; ${found.refused.length} cannot be`}.
          </Text>
          <List size="sm" mt="xs" className="mono" aria-label="Schedules that it touches">
            {found.schedule_ids.slice(0, 8).map((id) => (
              <List.Item key={id}>{id}</List.Item>
            ))}
          </List>
          {(found.schedule_ids.length > 8 || found.next_page) && <Text className="dim">…</Text>}
          {found.refused.slice(0, 5).map((each) => (
            <Text key={each.schedule_id} size="sm" c="red">
              {each.schedule_id}: {each.problem}
            </Text>
          ))}
          {deed === 'resume' && (
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
          loading={act.isPending}
          disabled={!found || found.schedule_ids.length === 0}
          onClick={() => {
            if (deed === 'pause') setPausing(true)
            else act.mutate(deed === 'resume' && onResume !== 'policy' ? { on_resume: onResume } : {})
          }}
        >
          {deed === 'pause' ? 'Go on…' : `${NAMES[deed]} them`}
        </Button>
      </Group>
    </Dialog>
  )
}
