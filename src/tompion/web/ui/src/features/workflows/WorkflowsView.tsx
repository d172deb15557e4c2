import { Badge, Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { workflowsQuery } from '../../api/queries'
import { useIsAllowed } from '../../api/session'
import type { Workflow } from '../../api/types'
import { type Column, DataTable } from '../../components/DataTable'
import { Icon } from '../../components/Icon'
import { LoadMore } from '../../components/LoadMore'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState } from '../../components/states'
import { TargetPausedBadge } from '../../components/TargetPausedBadge'
import { Timestamp } from '../../components/Timestamp'
import { NO_VALUE } from '../../lib/format'
import { t } from '../../messages'
import { WorkflowForm } from './WorkflowForm'
import { WorkflowPauseButton } from './WorkflowPauseButton'

const COLUMNS: Column<Workflow>[] = [
  {
    name: t('common.workflow'),
    cell: ({ workflow_id: workflowId }) => (
      <Link to="/workflows/$workflowId" params={{ workflowId }} className="text-link">
        {workflowId}
      </Link>
    ),
  },
  { name: t('workflows.executor'), cell: (workflow) => executorOf(workflow.document) },
  { name: t('common.version'), cell: (workflow) => workflow.version },
  { name: t('workflows.updated'), cell: (workflow) => <Timestamp at={workflow.created_at} precision="minute" /> },
  {
    name: t('common.state'),
    cell: (workflow) =>
      workflow.paused ? (
        <TargetPausedBadge target="workflow" name={workflow.workflow_id} />
      ) : (
        <Badge color="verdigris">{t('common.active')}</Badge>
      ),
  },
  {
    name: t('workflows.schedules'),
    cell: ({ workflow_id }) => (
      <Link to="/schedules" search={{ workflow_id }} className="text-link">
        {t('common.view')}
      </Link>
    ),
  },
]

/** The workflows: reusable actions that schedules can run. */
export function WorkflowsView() {
  const query = useInfiniteQuery(workflowsQuery())
  const mayEdit = useIsAllowed('editor')
  const mayOperate = useIsAllowed('operator')
  const [isCreating, setIsCreating] = useState(false)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title={t('nav.workflows')}>
        {mayEdit && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setIsCreating(true)}>
            {t('workflows.new')}
          </Button>
        )}
      </PageHeader>
      <DataTable
        query={query}
        items={items}
        keyOf={(workflow) => workflow.workflow_id}
        columns={COLUMNS}
        actions={mayOperate ? (workflow) => <WorkflowPauseButton workflow={workflow} /> : undefined}
        empty={<EmptyState title={t('workflows.none')}>{t('workflows.noneHelp')}</EmptyState>}
      >
        <LoadMore query={query} />
      </DataTable>
      {isCreating && <WorkflowForm onClose={() => setIsCreating(false)} />}
    </>
  )
}

function executorOf(document: unknown): string {
  const { executor, dag } = (document ?? {}) as { executor?: string; dag?: unknown }
  return executor ?? (dag ? 'dag' : NO_VALUE)
}
