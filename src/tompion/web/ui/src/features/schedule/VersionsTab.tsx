import { Badge, Button, Group, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { descriptionQuery, versionsQuery } from '../../api/queries'
import type { Version } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { Diff } from '../../components/Diff'
import { Timestamp } from '../../components/Timestamp'
import { Loading, ErrorState } from '../../components/states'
import { showError, showToast } from '../../components/toasts'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/versions')

/** Every definition that it has had, what each has changed, and the way back to it. */
export function VersionsTab() {
  const { id } = route.useParams()
  const zone = useScheduleZone(id)
  const mayEdit = useIsAllowed('editor')
  const query = useQuery(versionsQuery(id))
  const current = useQuery(descriptionQuery(id)).data?.schedule
  const [selected, setSelected] = useState<Version | null>(null)
  if (query.isPending) return <Loading />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const newest = query.data[0]
  return (
    <>
      <div className="panel scroll-x">
        <table className="plain-table">
          <thead>
            <tr>
              <th>Version</th>
              <th>Made</th>
              <th>By</th>
              <th>For the ticks</th>
              <th>What it changed</th>
              <th>
                <VisuallyHidden>Actions</VisuallyHidden>
              </th>
            </tr>
          </thead>
          <tbody>
            {query.data.map((version, at) => (
              <tr key={version.version}>
                <td className="nowrap">
                  {version.version} {version.version === current?.version && <Badge color="verdigris" miw="max-content">in force</Badge>}
                </td>
                <td>
                  <Timestamp at={version.created_at} zone={zone} />
                </td>
                <td>{version.author}</td>
                <td className="nowrap">
                  from <Timestamp at={version.decides_after} zone={zone} precision="minute" />
                  {version.decides_until && (
                    <>
                      <br />
                      to <Timestamp at={version.decides_until} zone={zone} precision="minute" />
                    </>
                  )}
                  {!version.decides_until && ' on'}
                </td>
                <td>
                  {query.data[at + 1] ? <Diff before={query.data[at + 1]?.definition} after={version.definition} /> : <span className="dim">the first one</span>}
                </td>
                <td>
                  {mayEdit && version.version !== current?.version && (
                    <Button variant="default" size="compact-xs" onClick={() => setSelected(version)} aria-label={`Restore version ${version.version}`}>
                      Restore
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {selected && newest && <RestoreDialog id={id} selected={selected} newest={newest} token={current?.token} onClose={() => setSelected(null)} />}
    </>
  )
}

interface RestoreDialogProps {
  id: string
  selected: Version
  newest: Version
  token: number | undefined
  onClose: () => void
}

function RestoreDialog({ id, selected, newest, token, onClose }: RestoreDialogProps) {
  const refresh = useRefresh()
  const restore = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/schedules/{schedule_id}/versions/{version}/restore', {
          params: {
            path: { schedule_id: id, version: selected.version },
            header: token === undefined ? {} : { 'If-Match': `"${token}"` },
          },
          body: {},
        }),
      ),
    onSuccess: () => {
      showToast(`${id} is as in version ${selected.version} again`)
      onClose()
    },
    onError: showError,
    onSettled: () => refresh(id),
  })
  return (
    <ConfirmDialog title={`Restore version ${selected.version} of ${id}?`} confirmLabel="Restore it" busy={restore.isPending} onConfirm={() => restore.mutate()} onClose={onClose}>
      <p>It becomes the newest version again. Compared with what is in force now:</p>
      <Group>
        <Diff before={newest.definition} after={selected.definition} />
      </Group>
    </ConfirmDialog>
  )
}
