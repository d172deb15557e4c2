import { Badge, Button, Code, CopyButton, Group, Select, TextInput } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefresh } from '../../api/mutations'

import { keysQuery } from '../../api/queries'
import { createKey, revokeKey } from '../../api/requests'
import { useHasRole, useIsAllowed } from '../../api/session'
import type { ApiKey, NewKey } from '../../api/types'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { type Column, DataTable } from '../../components/DataTable'
import { Dialog } from '../../components/Dialog'
import { Icon } from '../../components/Icon'
import { LoadMore } from '../../components/LoadMore'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState, NoAccess } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { showError, showToast } from '../../components/toasts'
import { now } from '../../lib/clock'
import { parseInstant } from '../../lib/format'
import { useDisplayZone } from '../../lib/timezones'
import { codeText, t } from '../../messages'

const ROLES = [
  { value: 'reader', label: t('keys.roleReader') },
  { value: 'operator', label: t('keys.roleOperator') },
  { value: 'editor', label: t('keys.roleEditor') },
  { value: 'admin', label: t('keys.roleAdmin') },
]

const COLUMNS: Column<ApiKey>[] = [
  { name: t('common.name'), cell: (apiKey) => apiKey.name },
  { name: t('keys.role'), cell: (apiKey) => codeText('role', apiKey.role) },
  { name: t('common.state'), cell: (apiKey) => <KeyState apiKey={apiKey} /> },
  { name: t('keys.id'), cell: (apiKey) => apiKey.key_id, className: 'mono' },
  { name: t('keys.createdBy'), cell: (apiKey) => apiKey.created_by },
  { name: t('keys.created'), cell: (apiKey) => <Timestamp at={apiKey.created_at} precision="minute" /> },
  {
    name: t('keys.expires'),
    cell: (apiKey) => (apiKey.expires_at ? <Timestamp at={apiKey.expires_at} precision="minute" /> : t('common.never')),
  },
]

/** The API keys: create and revoke them. The secret of a new key is shown once. */
export function KeysView() {
  const canView = useHasRole('admin')
  return canView ? <KeyList /> : <NoAccess title={t('keys.noPermission')} needs="admin" />
}

function KeyList() {
  const canManage = useIsAllowed('admin')
  const query = useInfiniteQuery(keysQuery())
  const [isCreating, setIsCreating] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title={t('nav.keys')}>
        {canManage && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setIsCreating(true)}>
            {t('keys.new')}
          </Button>
        )}
      </PageHeader>
      <DataTable
        query={query}
        items={items}
        keyOf={(apiKey) => apiKey.key_id}
        columns={COLUMNS}
        actions={(apiKey) =>
          canManage &&
          !apiKey.revoked_at && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => setRevoking(apiKey)}
              aria-label={t('keys.revokeKey', { name: apiKey.name })}
            >
              {t('keys.revoke')}
            </Button>
          )
        }
        empty={<EmptyState title={t('keys.none')}>{t('keys.noneHelp')}</EmptyState>}
      >
        <LoadMore query={query} />
      </DataTable>
      {isCreating && <CreateKeyDialog onClose={() => setIsCreating(false)} />}
      {revoking && <RevokeKeyDialog apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  )
}

function KeyState({ apiKey }: { apiKey: ApiKey }) {
  if (apiKey.revoked_at) return <Badge color="gray">{t('keys.stateRevoked')}</Badge>
  if (apiKey.expires_at && Date.parse(apiKey.expires_at) < now())
    return <Badge color="gray">{t('keys.stateExpired')}</Badge>
  return <Badge color="verdigris">{t('keys.stateActive')}</Badge>
}

function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState('')
  const [role, setRole] = useState('reader')
  const [expires, setExpires] = useState('')
  const displayedZone = useDisplayZone()
  const expiresAt = parseInstant(expires, displayedZone)
  const error = expires && !expiresAt ? t('time.invalidIn', { zone: displayedZone }) : undefined
  const create = useMutation<NewKey, Error>({
    mutationFn: () => createKey({ name, role, ...(expiresAt ? { expires_at: expiresAt.toISOString() } : {}) }),
    onError: showError,
    onSettled: () => refresh(),
  })
  if (create.data) return <NewKeyDialog newKey={create.data} onClose={onClose} />
  return (
    <Dialog onClose={onClose} title={t('keys.new')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!error) create.mutate()
        }}
      >
        <TextInput
          data-autofocus
          label={t('common.name')}
          description={t('keys.nameHelp')}
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          mt="sm"
          label={t('keys.role')}
          data={ROLES}
          value={role}
          onChange={(value) => setRole(value ?? 'reader')}
          allowDeselect={false}
        />
        <TextInput
          mt="sm"
          type="datetime-local"
          label={t('keys.expires')}
          description={t('keys.expiresHelp', { zone: displayedZone })}
          value={expires}
          error={error}
          onChange={(event) => setExpires(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={create.isPending}>
            {t('keys.create')}
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}

function NewKeyDialog({ newKey, onClose }: { newKey: NewKey; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={t('keys.createdTitle', { name: newKey.key.name })} closeOnClickOutside={false}>
      <p>{t('keys.createdHelp')}</p>
      <Code block aria-label={t('keys.secret')} data-secret>
        {newKey.secret}
      </Code>
      <Group justify="flex-end" mt="md">
        <CopyButton value={newKey.secret}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<Icon name={copied ? 'check' : 'copy'} />} onClick={copy}>
              {copied ? t('common.copied') : t('common.copy')}
            </Button>
          )}
        </CopyButton>
        <Button onClick={onClose}>{t('common.done')}</Button>
      </Group>
    </Dialog>
  )
}

function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const refresh = useRefresh()
  const revoke = useMutation({
    mutationFn: () => revokeKey(apiKey.key_id),
    onSuccess: () => {
      showToast(t('keys.revoked', { name: apiKey.name }))
      onClose()
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  return (
    <ConfirmDialog
      title={t('keys.revokeTitle', { name: apiKey.name })}
      confirmLabel={t('keys.revoke')}
      isDangerous
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>{t('keys.revokeHelp')}</p>
    </ConfirmDialog>
  )
}
