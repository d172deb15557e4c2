import { Button, Group, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { workflowQuery } from '../../api/queries'
import { useMay } from '../../api/session'
import { Diff } from '../../components/Diff'
import { Icon } from '../../components/Icon'
import { Moment } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { TargetPaused } from '../../components/TargetPausedBadge'
import { RawText } from '../../components/CodeBlock'
import { Put } from './WorkflowForm'
import { Switch } from './WorkflowPauseButton'

const route = getRouteApi('/workflows/$workflowId')

/** One workflow: its document, the versions before it, and what they changed. */
export function Workflow() {
  const { workflowId: id } = route.useParams()
  const { version } = route.useSearch()
  const navigate = route.useNavigate()
  const [putting, setPutting] = useState(false)
  const mayEdit = useMay('editor')
  const mayOperate = useMay('operator')
  const newest = useQuery(workflowQuery(id))
  const shown = useQuery(workflowQuery(id, version))
  const before = useQuery({ ...workflowQuery(id, (shown.data?.version ?? 1) - 1), enabled: (shown.data?.version ?? 1) > 1 })
  if (newest.isPending) return <Waiting />
  if (newest.isError) return <Wrong error={newest.error} onRetry={() => void newest.refetch()} />
  const found = shown.data ?? newest.data
  return (
    <>
      <PageHead title={id}>
        {mayOperate && <Switch workflow={newest.data} size="xs" />}
        {mayEdit && (
          <Button leftSection={<Icon name="edit" />} onClick={() => setPutting(true)}>
            New version
          </Button>
        )}
      </PageHead>
      <Group mb="sm" gap="xs">
        <Select
          aria-label="Version"
          w={140}
          allowDeselect={false}
          value={String(found.version)}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, version: Number(value) }), replace: true })}
          data={Array.from({ length: newest.data.version }, (_, at) => ({ value: String(newest.data.version - at), label: `Version ${newest.data.version - at}` }))}
        />
        {newest.data.paused && (
          <span>
            <TargetPaused target="workflow" name={id} />
          </span>
        )}
        <Text size="sm" className="dim">
          stored <Moment at={found.created_at} />
        </Text>
        <Link to="/schedules" search={{ workflow_id: id }} className="text-link">
          Its schedules
        </Link>
      </Group>
      <RawText value={found.document} label="the document" />
      {found.version > 1 && before.data && (
        <>
          <Text fw={550} mt="md" mb="xs">
            What version {found.version} changed
          </Text>
          <div className="panel" style={{ padding: '0.6rem 0.9rem' }}>
            <Diff before={before.data.document} after={found.document} />
          </div>
        </>
      )}
      {putting && <Put workflow={newest.data} onClose={() => setPutting(false)} />}
    </>
  )
}
