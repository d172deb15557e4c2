import { Badge, Button, Code, CopyButton, Group, Select, TextInput } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { keysQuery } from '../../api/queries'
import type { ApiKey, NewKey } from '../../api/types'
import { useHasRole, useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { now } from '../../lib/clock'
import { Dialog } from '../../components/Dialog'
import { parseInstant } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { DataTable, type Column } from '../../components/DataTable'
import { Timestamp } from '../../components/Timestamp'
import { LoadMore } from '../../components/LoadMore'
import { EmptyState, NoAccess } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { showError, showToast } from '../../components/toasts'
import { useDisplayZone, zoneLabel } from '../../lib/timezones'

const ROLES = [
  { value: 'reader', label: 'Reader: looks at everything' },
  { value: 'operator', label: 'Operator: pauses, triggers, skips, backfills' },
  { value: 'editor', label: 'Editor: creates and changes schedules, too' },
  { value: 'admin', label: 'Admin: makes and revokes keys, too' },
]

const COLUMNS: Column<ApiKey>[] = [
  { name: 'Name', cell: (apiKey) => apiKey.name },
  { name: 'Role', cell: (apiKey) => apiKey.role },
  { name: 'State', cell: (apiKey) => <KeyState apiKey={apiKey} /> },
  { name: 'Key', cell: (apiKey) => apiKey.key_id, className: 'mono' },
  { name: 'Made by', cell: (apiKey) => apiKey.created_by },
  { name: 'Made', cell: (apiKey) => <Timestamp at={apiKey.created_at} precision="minute" /> },
  { name: 'Expires', cell: (apiKey) => (apiKey.expires_at ? <Timestamp at={apiKey.expires_at} precision="minute" /> : 'never') },
]

/** Who may ask from outside: keys are made here, shown once, and revoked. */
export function KeysView() {
  const canView = useHasRole('admin')
  return canView ? <KeyList /> : <NoAccess title="You cannot see the keys" role="admin" />
}

function KeyList() {
  const canManage = useIsAllowed('admin')
  const query = useInfiniteQuery(keysQuery())
  const [isCreating, setIsCreating] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHeader title="Keys">
        {canManage && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setIsCreating(true)}>
            New key
          </Button>
        )}
      </PageHeader>
      <DataTable
        query={query}
        items={items}
        keyOf={(apiKey) => apiKey.key_id}
        columns={COLUMNS}
        actions={(apiKey) =>
          canManage && !apiKey.revoked_at && (
            <Button size="compact-xs" variant="default" onClick={() => setRevoking(apiKey)} aria-label={`Revoke ${apiKey.name}`}>
              Revoke
            </Button>
          )
        }
        empty={
          <EmptyState title="There are no keys yet">
            A key lets a program, or somebody with a browser, in: with a role, in this namespace, until it expires or is revoked.
          </EmptyState>
        }
      >
        <LoadMore query={query}>More keys</LoadMore>
      </DataTable>
      {isCreating && <CreateKeyDialog onClose={() => setIsCreating(false)} />}
      {revoking && <RevokeKeyDialog apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  )
}

function KeyState({ apiKey }: { apiKey: ApiKey }) {
  if (apiKey.revoked_at) return <Badge color="gray">revoked</Badge>
  if (apiKey.expires_at && Date.parse(apiKey.expires_at) < now()) return <Badge color="gray">expired</Badge>
  return <Badge color="verdigris">valid</Badge>
}

function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState('')
  const [role, setRole] = useState('reader')
  const [expires, setExpires] = useState('')
  const displayedZone = useDisplayZone()
  const expiresAt = parseInstant(expires, displayedZone)
  const error = expires && !expiresAt ? `There is no such time in ${displayedZone}` : undefined
  const create = useMutation<NewKey, Error>({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/keys', { body: { name, role, ...(expiresAt ? { expires_at: expiresAt.toISOString() } : {}) } })),
    onError: showError,
    onSettled: () => refresh(),
  })
  if (create.data) return <NewKeyDialog newKey={create.data} onClose={onClose} />
  return (
    <Dialog onClose={onClose} title="New key">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!error) create.mutate()
        }}
      >
        <TextInput data-autofocus label="Name" description="What it is for: it stands in the audit" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Select mt="sm" label="Role" data={ROLES} value={role} onChange={(value) => setRole(value ?? 'reader')} allowDeselect={false} />
        <TextInput
          mt="sm"
          type="datetime-local"
          label="Expires"
          description={`In ${zoneLabel(displayedZone)}; empty: never`}
          value={expires}
          error={error}
          onChange={(event) => setExpires(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Make none
          </Button>
          <Button type="submit" loading={create.isPending}>
            Make it
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}

function NewKeyDialog({ newKey, onClose }: { newKey: NewKey; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={`The key ${newKey.key.name}`} closeOnClickOutside={false}>
      <p>This is the only time that it is shown. Keep it where secrets are kept.</p>
      <Code block aria-label="The key" data-secret>
        {newKey.secret}
      </Code>
      <Group justify="flex-end" mt="md">
        <CopyButton value={newKey.secret}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<Icon name={copied ? 'check' : 'copy'} />} onClick={copy}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        <Button onClick={onClose}>I have kept it</Button>
      </Group>
    </Dialog>
  )
}

function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const refresh = useRefresh()
  const revoke = useMutation({
    mutationFn: () => unwrap(api.DELETE('/api/v1/keys/{key_id}', { params: { path: { key_id: apiKey.key_id } } })),
    onSuccess: () => {
      showToast(`${apiKey.name} is worth nothing any more`)
      onClose()
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  return (
    <ConfirmDialog title={`Revoke ${apiKey.name}?`} confirmLabel="Revoke it" isDangerous busy={revoke.isPending} onConfirm={() => revoke.mutate()} onClose={onClose}>
      <p>Whoever uses it is refused within seconds. It cannot be taken back; a new key can be made.</p>
    </ConfirmDialog>
  )
}
