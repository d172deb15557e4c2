import { Badge, Button, Group, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useRefresh } from '../../api/mutations'

import { descriptionQuery, versionsQuery } from '../../api/queries'
import { restoreVersion } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import type { Version } from '../../api/types'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { Diff } from '../../components/Diff'
import { ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { showError, showToast } from '../../components/toasts'
import { rich, t } from '../../messages'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/versions')

/** All versions of a schedule with their changes, and a button to restore one. */
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
              <th>{t('common.version')}</th>
              <th>{t('versions.created')}</th>
              <th>{t('versions.author')}</th>
              <th>{t('versions.effective')}</th>
              <th>{t('versions.changes')}</th>
              <th>
                <VisuallyHidden>{t('common.actions')}</VisuallyHidden>
              </th>
            </tr>
          </thead>
          <tbody>
            {query.data.map((version, at) => (
              <tr key={version.version}>
                <td className="nowrap">
                  {version.version}{' '}
                  {version.version === current?.definition_version && (
                    <Badge color="verdigris" miw="max-content">
                      {t('versions.current')}
                    </Badge>
                  )}
                </td>
                <td>
                  <Timestamp at={version.created_at} zone={zone} />
                </td>
                <td>{version.author}</td>
                <td className="nowrap">
                  {version.decides_until
                    ? rich('versions.fromTo', {
                        from: <Timestamp at={version.decides_after} zone={zone} precision="minute" />,
                        to: <Timestamp at={version.decides_until} zone={zone} precision="minute" />,
                      })
                    : rich('versions.since', {
                        from: <Timestamp at={version.decides_after} zone={zone} precision="minute" />,
                      })}
                </td>
                <td>
                  {query.data[at + 1] ? (
                    <Diff before={query.data[at + 1]?.definition} after={version.definition} />
                  ) : (
                    <span className="dim">{t('versions.initial')}</span>
                  )}
                </td>
                <td>
                  {mayEdit && version.version !== current?.definition_version && (
                    <Button
                      variant="default"
                      size="compact-xs"
                      onClick={() => setSelected(version)}
                      aria-label={t('versions.restoreVersion', { version: version.version })}
                    >
                      {t('versions.restore')}
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {selected && newest && (
        <RestoreDialog
          id={id}
          selected={selected}
          newest={newest}
          conflictToken={current?.conflict_token}
          onClose={() => setSelected(null)}
        />
      )}
    </>
  )
}

interface RestoreDialogProps {
  id: string
  selected: Version
  newest: Version
  conflictToken: number | undefined
  onClose: () => void
}

function RestoreDialog({ id, selected, newest, conflictToken, onClose }: RestoreDialogProps) {
  const refresh = useRefresh()
  const restore = useMutation({
    mutationFn: () => restoreVersion(id, selected.version, conflictToken),
    onSuccess: () => {
      showToast(t('versions.restored', { version: selected.version }))
      onClose()
    },
    onError: showError,
    onSettled: () => refresh(id),
  })
  return (
    <ConfirmDialog
      title={t('versions.restoreTitle', { version: selected.version })}
      confirmLabel={t('versions.restore')}
      busy={restore.isPending}
      onConfirm={() => restore.mutate()}
      onClose={onClose}
    >
      <p>{t('versions.restoreHelp')}</p>
      <Group>
        <Diff before={newest.definition} after={selected.definition} />
      </Group>
    </ConfirmDialog>
  )
}
