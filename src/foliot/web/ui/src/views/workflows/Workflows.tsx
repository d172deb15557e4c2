import { Badge, Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { workflowsQuery } from '../../api/queries'
import { useMay } from '../../api/visit'
import { Icon } from '../../parts/Icon'
import { Moment } from '../../parts/Moment'
import { More } from '../../parts/More'
import { Empty, Waiting, Wrong } from '../../parts/notes'
import { PageHead } from '../../parts/Page'
import { Put } from './Put'
import { Switch } from './Switch'

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
      {query.isPending ? (
        <Waiting />
      ) : query.isError ? (
        <Wrong error={query.error} onRetry={() => void query.refetch()} />
      ) : items.length === 0 ? (
        <Empty title="There are no workflows yet">
          <p>A workflow is a stored document that an executor is given: an HTTP request, a command, a task of Celery. Schedules name it, and it can be changed without touching them.</p>
          <pre className="raw">{`foliot workflows put ping --document \\\n    '{"executor": "http", "options": {"url": "https://example.org/ping"}}'`}</pre>
        </Empty>
      ) : (
        <>
          <div className="panel scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th>Workflow</th>
                  <th>Executor</th>
                  <th>Version</th>
                  <th>Stored</th>
                  <th>State</th>
                  <th>Schedules</th>
                  {mayOperate && <th aria-label="Actions" />}
                </tr>
              </thead>
              <tbody>
                {items.map((each) => (
                  <tr key={each.workflow_id}>
                    <td>
                      <Link to="/workflows/$workflowId" params={{ workflowId: each.workflow_id }} className="text-link">
                        {each.workflow_id}
                      </Link>
                    </td>
                    <td>{kindOf(each.document)}</td>
                    <td>{each.version}</td>
                    <td>
                      <Moment at={each.created_at} precision="minute" />
                    </td>
                    <td>{each.paused ? <Badge color="orange">paused</Badge> : <Badge color="verdigris">active</Badge>}</td>
                    <td>
                      <Link to="/schedules" search={{ workflow_id: each.workflow_id }} className="text-link">
                        Show them
                      </Link>
                    </td>
                    {mayOperate && (
                      <td>
                        <Switch workflow={each} />
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <More query={query}>More workflows</More>
        </>
      )}
      {putting && <Put onClose={() => setPutting(false)} />}
    </>
  )
}

function kindOf(document: unknown): string {
  const { executor, dag } = (document ?? {}) as { executor?: string; dag?: unknown }
  return executor ?? (dag ? 'dag' : '–')
}
