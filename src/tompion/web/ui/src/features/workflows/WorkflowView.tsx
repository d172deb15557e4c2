import { Button, Group, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { workflowQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import { CodeBlock } from '../../components/CodeBlock'
import { Diff } from '../../components/Diff'
import { Icon } from '../../components/Icon'
import { PageHeader } from '../../components/PageHeader'
import { ErrorState, Loading } from '../../components/states'
import { TargetPausedBadge } from '../../components/TargetPausedBadge'
import { Timestamp } from '../../components/Timestamp'
import { rich, t } from '../../messages'
import { WorkflowForm } from './WorkflowForm'
import { WorkflowPauseButton } from './WorkflowPauseButton'

const route = getRouteApi('/workflows/$workflowId')

/** One workflow: its definition, its versions and their changes. */
export function WorkflowView() {
  const { workflowId: id } = route.useParams()
  const { version } = route.useSearch()
  const navigate = route.useNavigate()
  const [isEditing, setIsEditing] = useState(false)
  const mayEdit = useIsAllowed('editor')
  const mayOperate = useIsAllowed('operator')
  const newest = useQuery(workflowQuery(id))
  const selected = useQuery(workflowQuery(id, version))
  const before = useQuery({
    ...workflowQuery(id, (selected.data?.version ?? 1) - 1),
    enabled: (selected.data?.version ?? 1) > 1,
  })
  if (newest.isPending) return <Loading />
  if (newest.isError) return <ErrorState error={newest.error} onRetry={() => void newest.refetch()} />
  const workflow = selected.data ?? newest.data
  return (
    <>
      <PageHeader title={id}>
        {mayOperate && <WorkflowPauseButton workflow={newest.data} size="xs" />}
        {mayEdit && (
          <Button leftSection={<Icon name="edit" />} onClick={() => setIsEditing(true)}>
            {t('common.edit')}
          </Button>
        )}
      </PageHeader>
      <Group mb="sm" gap="xs">
        <Select
          aria-label={t('common.version')}
          w={140}
          allowDeselect={false}
          value={String(workflow.version)}
          onChange={(value) => void navigate({ search: (all) => ({ ...all, version: Number(value) }), replace: true })}
          data={Array.from({ length: newest.data.version }, (_, at) => ({
            value: String(newest.data.version - at),
            label: t('workflows.versionOption', { version: newest.data.version - at }),
          }))}
        />
        {newest.data.paused && (
          <span>
            <TargetPausedBadge target="workflow" name={id} />
          </span>
        )}
        <Text size="sm" className="dim">
          {rich('workflows.saved', { at: <Timestamp at={workflow.created_at} /> })}
        </Text>
        <Link to="/schedules" search={{ workflow_id: id }} className="text-link">
          {t('workflows.viewSchedules')}
        </Link>
      </Group>
      <CodeBlock value={workflow.document} label={t('workflows.definition')} />
      {workflow.version > 1 && before.data && (
        <>
          <Text fw={550} mt="md" mb="xs">
            {t('workflows.changesIn', { version: workflow.version })}
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
