import { Badge, Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { workflowsQuery } from '../../api/queries'
import type { Workflow } from '../../api/types'
import { useMay } from '../../api/session'
import { Icon } from '../../components/Icon'
import { Listing, type Column } from '../../components/DataTable'
import { Moment } from '../../components/Timestamp'
import { More } from '../../components/LoadMore'
import { Empty } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { TargetPaused } from '../../components/TargetPausedBadge'
import { Put } from './WorkflowForm'
import { Switch } from './WorkflowPauseButton'

const COLUMNS: Column<Workflow>[] = [
  {
    name: 'Workflow',
    cell: ({ workflow_id: workflowId }) => (
      <Link to="/workflows/$workflowId" params={{ workflowId }} className="text-link">
        {workflowId}
      </Link>
    ),
  },
  { name: 'Executor', cell: (each) => kindOf(each.document) },
  { name: 'Version', cell: (each) => each.version },
  { name: 'Stored', cell: (each) => <Moment at={each.created_at} precision="minute" /> },
  { name: 'State', cell: (each) => (each.paused ? <TargetPaused target="workflow" name={each.workflow_id} /> : <Badge color="verdigris">active</Badge>) },
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
export function Workflows() {
  const query = useInfiniteQuery(workflowsQuery())
  const mayEdit = useMay('editor')
  const mayOperate = useMay('operator')
  const [putting, setPutting] = useState(false)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHead title="Workflows">
        {mayEdit && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setPutting(true)}>
            New workflow
          </Button>
        )}
      </PageHead>
      <Listing
        query={query}
        items={items}
        keyOf={(each) => each.workflow_id}
        columns={COLUMNS}
        act={mayOperate ? (each) => <Switch workflow={each} /> : undefined}
        empty={
          <Empty title="There are no workflows yet">
            <p>A workflow is a stored document that an executor is given: an HTTP request, a command, a task of Celery. Schedules name it, and it can be changed without touching them.</p>
            <pre className="raw">{`tompion workflows put ping --document \\\n    '{"executor": "http", "options": {"url": "https://example.org/ping"}}'`}</pre>
          </Empty>
        }
      >
        <More query={query}>More workflows</More>
      </Listing>
      {putting && <Put onClose={() => setPutting(false)} />}
    </>
  )
}

function kindOf(document: unknown): string {
  const { executor, dag } = (document ?? {}) as { executor?: string; dag?: unknown }
  return executor ?? (dag ? 'dag' : '–')
}
