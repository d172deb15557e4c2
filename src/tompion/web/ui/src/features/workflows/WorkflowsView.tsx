import { Badge, Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { workflowsQuery } from '../../api/queries'
import type { Workflow } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { Icon } from '../../components/Icon'
import { DataTable, type Column } from '../../components/DataTable'
import { Timestamp } from '../../components/Timestamp'
import { LoadMore } from '../../components/LoadMore'
import { EmptyState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { TargetPausedBadge } from '../../components/TargetPausedBadge'
import { WorkflowForm } from './WorkflowForm'
import { WorkflowPauseButton } from './WorkflowPauseButton'

const COLUMNS: Column<Workflow>[] = [
  {
    name: 'Workflow',
    cell: ({ workflow_id: workflowId }) => (
      <Link to="/workflows/$workflowId" params={{ workflowId }} className="text-link">
        {workflowId}
      </Link>
    ),
  },
  { name: 'Executor', cell: (workflow) => executorOf(workflow.document) },
  { name: 'Version', cell: (workflow) => workflow.version },
  { name: 'Stored', cell: (workflow) => <Timestamp at={workflow.created_at} precision="minute" /> },
  { name: 'State', cell: (workflow) => (workflow.paused ? <TargetPausedBadge target="workflow" name={workflow.workflow_id} /> : <Badge color="verdigris">active</Badge>) },
  {
    name: 'Schedules',
    cell: ({ workflow_id }) => (
      <Link to="/schedules" search={{ workflow_id }} className="text-link">
        Show them
      </Link>
    ),
  },
]

/** The stored documents that schedules can start. */
export function WorkflowsView() {
  const query = useInfiniteQuery(workflowsQuery())
  const mayEdit = useIsAllowed('editor')
  const mayOperate = useIsAllowed('operator')
  const [isCreating, setIsCreating] = useState(false)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title="Workflows">
        {mayEdit && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setIsCreating(true)}>
            New workflow
          </Button>
        )}
      </PageHeader>
      <DataTable
        query={query}
        items={items}
        keyOf={(workflow) => workflow.workflow_id}
        columns={COLUMNS}
        actions={mayOperate ? (workflow) => <WorkflowPauseButton workflow={workflow} /> : undefined}
        empty={
          <EmptyState title="There are no workflows yet">
            <p>A workflow is a stored document that an executor is given: an HTTP request, a command, a task of Celery. Schedules name it, and it can be changed without touching them.</p>
            <pre className="raw">{`tompion workflows put ping --document \\\n    '{"executor": "http", "options": {"url": "https://example.org/ping"}}'`}</pre>
          </EmptyState>
        }
      >
        <LoadMore query={query}>More workflows</LoadMore>
      </DataTable>
      {isCreating && <WorkflowForm onClose={() => setIsCreating(false)} />}
    </>
  )
}

function executorOf(document: unknown): string {
  const { executor, dag } = (document ?? {}) as { executor?: string; dag?: unknown }
  return executor ?? (dag ? 'dag' : '–')
}
