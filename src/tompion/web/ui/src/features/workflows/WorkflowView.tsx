import { Button, Group, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { workflowQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import { Diff } from '../../components/Diff'
import { Icon } from '../../components/Icon'
import { Timestamp } from '../../components/Timestamp'
import { Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { TargetPausedBadge } from '../../components/TargetPausedBadge'
import { CodeBlock } from '../../components/CodeBlock'
import { WorkflowForm } from './WorkflowForm'
import { WorkflowPauseButton } from './WorkflowPauseButton'

const route = getRouteApi('/workflows/$workflowId')

/** One workflow: its document, the versions before it, and what they changed. */
export function WorkflowView() {
  const { workflowId: id } = route.useParams()
  const { version } = route.useSearch()
  const navigate = route.useNavigate()
  const [isEditing, setIsEditing] = useState(false)
  const mayEdit = useIsAllowed('editor')
  const mayOperate = useIsAllowed('operator')
  const newest = useQuery(workflowQuery(id))
  const selected = useQuery(workflowQuery(id, version))
  const before = useQuery({ ...workflowQuery(id, (selected.data?.version ?? 1) - 1), enabled: (selected.data?.version ?? 1) > 1 })
  if (newest.isPending) return <Loading />
  if (newest.isError) return <ErrorState error={newest.error} onRetry={() => void newest.refetch()} />
  const workflow = selected.data ?? newest.data
  return (
    <>
      <PageHeader title={id}>
        {mayOperate && <WorkflowPauseButton workflow={newest.data} size="xs" />}
        {mayEdit && (
          <Button leftSection={<Icon name="edit" />} onClick={() => setIsEditing(true)}>
            New version
          </Button>
        )}
      </PageHeader>
      <Group mb="sm" gap="xs">
        <Select
          aria-label="Version"
          w={140}
          allowDeselect={false}
          value={String(workflow.version)}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, version: Number(value) }), replace: true })}
          data={Array.from({ length: newest.data.version }, (_, at) => ({ value: String(newest.data.version - at), label: `Version ${newest.data.version - at}` }))}
        />
        {newest.data.paused && (
          <span>
            <TargetPausedBadge target="workflow" name={id} />
          </span>
        )}
        <Text size="sm" className="dim">
          stored <Timestamp at={workflow.created_at} />
        </Text>
        <Link to="/schedules" search={{ workflow_id: id }} className="text-link">
          Its schedules
        </Link>
      </Group>
      <CodeBlock value={workflow.document} label="the document" />
      {workflow.version > 1 && before.data && (
        <>
          <Text fw={550} mt="md" mb="xs">
            What version {workflow.version} changed
          </Text>
          <div className="panel" style={{ padding: '0.6rem 0.9rem' }}>
            <Diff before={before.data.document} after={workflow.document} />
          </div>
        </>
      )}
      {isEditing && <WorkflowForm workflow={newest.data} onClose={() => setIsEditing(false)} />}
    </>
  )
}
