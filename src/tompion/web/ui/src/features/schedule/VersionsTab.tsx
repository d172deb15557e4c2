import { Badge, Button, Group, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { describeQuery, versionsQuery } from '../../api/queries'
import type { Version } from '../../api/types'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { Ask } from '../../components/ConfirmDialog'
import { Diff } from '../../components/Diff'
import { Moment } from '../../components/Timestamp'
import { Waiting, Wrong } from '../../components/states'
import { complain, say } from '../../components/toasts'
import { useZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/versions')

/** Every definition that it has had, what each has changed, and the way back to it. */
export function Versions() {
  const { id } = route.useParams()
  const zone = useZone(id)
  const mayEdit = useMay('editor')
  const query = useQuery(versionsQuery(id))
  const current = useQuery(describeQuery(id)).data?.schedule
  const [wanted, setWanted] = useState<Version | null>(null)
  if (query.isPending) return <Waiting />
  if (query.isError) return <Wrong error={query.error} onRetry={() => void query.refetch()} />
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
            {query.data.map((each, at) => (
              <tr key={each.version}>
                <td className="nowrap">
                  {each.version} {each.version === current?.version && <Badge color="verdigris" miw="max-content">in force</Badge>}
                </td>
                <td>
                  <Moment at={each.created_at} zone={zone} />
                </td>
                <td>{each.author}</td>
                <td className="nowrap">
                  from <Moment at={each.decides_after} zone={zone} precision="minute" />
                  {each.decides_until && (
                    <>
                      <br />
                      to <Moment at={each.decides_until} zone={zone} precision="minute" />
                    </>
                  )}
                  {!each.decides_until && ' on'}
                </td>
                <td>
                  {query.data[at + 1] ? <Diff before={query.data[at + 1]?.definition} after={each.definition} /> : <span className="dim">the first one</span>}
                </td>
                <td>
                  {mayEdit && each.version !== current?.version && (
                    <Button variant="default" size="compact-xs" onClick={() => setWanted(each)} aria-label={`Restore version ${each.version}`}>
                      Restore
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {wanted && newest && <Restore id={id} wanted={wanted} newest={newest} token={current?.token} onClose={() => setWanted(null)} />}
    </>
  )
}

interface RestoreProps {
  id: string
  wanted: Version
  newest: Version
  token: number | undefined
  onClose: () => void
}

function Restore({ id, wanted, newest, token, onClose }: RestoreProps) {
  const refresh = useRefresh()
  const restore = useMutation({
    mutationFn: () =>
      answer(
        api.POST('/api/v1/schedules/{schedule_id}/versions/{version}/restore', {
          params: {
            path: { schedule_id: id, version: wanted.version },
            header: token === undefined ? {} : { 'If-Match': `"${token}"` },
          },
          body: {},
        }),
      ),
    onSuccess: () => {
      say(`${id} is as in version ${wanted.version} again`)
      onClose()
    },
    onError: complain,
    onSettled: () => refresh(id),
  })
  return (
    <Ask title={`Restore version ${wanted.version} of ${id}?`} yes="Restore it" busy={restore.isPending} onYes={() => restore.mutate()} onClose={onClose}>
      <p>It becomes the newest version again. Compared with what is in force now:</p>
      <Group>
        <Diff before={newest.definition} after={wanted.definition} />
      </Group>
    </Ask>
  )
}
