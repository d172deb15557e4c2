import { Badge, Button, Code, CopyButton, Group, Select, TextInput } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { keysQuery } from '../../api/queries'
import type { ApiKey, NewKey } from '../../api/types'
import { useHolds, useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { Ask } from '../../components/ConfirmDialog'
import { now } from '../../lib/clock'
import { Dialog } from '../../components/Dialog'
import { instantOf } from '../../lib/format'
import { Icon } from '../../components/Icon'
import { Listing, type Column } from '../../components/DataTable'
import { Moment } from '../../components/Timestamp'
import { More } from '../../components/LoadMore'
import { Empty, Refused } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { complain, say } from '../../components/toasts'
import { useShownZone, zoneText } from '../../lib/timezones'

const ROLES = [
  { value: 'reader', label: 'Reader: looks at everything' },
  { value: 'operator', label: 'Operator: pauses, triggers, skips, backfills' },
  { value: 'editor', label: 'Editor: creates and changes schedules, too' },
  { value: 'admin', label: 'Admin: makes and revokes keys, too' },
]

const COLUMNS: Column<ApiKey>[] = [
  { name: 'Name', cell: (each) => each.name },
  { name: 'Role', cell: (each) => each.role },
  { name: 'State', cell: (each) => <State apiKey={each} /> },
  { name: 'Key', cell: (each) => each.key_id, className: 'mono' },
  { name: 'Made by', cell: (each) => each.created_by },
  { name: 'Made', cell: (each) => <Moment at={each.created_at} precision="minute" /> },
  { name: 'Expires', cell: (each) => (each.expires_at ? <Moment at={each.expires_at} precision="minute" /> : 'never') },
]

/** Who may ask from outside: keys are made here, shown once, and revoked. */
export function Keys() {
  const mayLook = useHolds('admin')
  return mayLook ? <Inside /> : <Refused title="You cannot see the keys" role="admin" />
}

function Inside() {
  const mayAct = useMay('admin')
  const query = useInfiniteQuery(keysQuery())
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHead title="Keys">
        {mayAct && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setMaking(true)}>
            New key
          </Button>
        )}
      </PageHead>
      <Listing
        query={query}
        items={items}
        keyOf={(each) => each.key_id}
        columns={COLUMNS}
        act={(each) =>
          mayAct && !each.revoked_at && (
            <Button size="compact-xs" variant="default" onClick={() => setRevoking(each)} aria-label={`Revoke ${each.name}`}>
              Revoke
            </Button>
          )
        }
        empty={
          <Empty title="There are no keys yet">
            A key lets a program, or somebody with a browser, in: with a role, in this namespace, until it expires or is revoked.
          </Empty>
        }
      >
        <More query={query}>More keys</More>
      </Listing>
      {making && <Make onClose={() => setMaking(false)} />}
      {revoking && <Revoke apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  )
}

function State({ apiKey }: { apiKey: ApiKey }) {
  if (apiKey.revoked_at) return <Badge color="gray">revoked</Badge>
  if (apiKey.expires_at && Date.parse(apiKey.expires_at) < now()) return <Badge color="gray">expired</Badge>
  return <Badge color="verdigris">valid</Badge>
}

function Make({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState('')
  const [role, setRole] = useState('reader')
  const [expires, setExpires] = useState('')
  const shown = useShownZone()
  const ends = instantOf(expires, shown)
  const wrong = expires && !ends ? `There is no such time in ${shown}` : undefined
  const make = useMutation<NewKey, Error>({
    mutationFn: () =>
      answer(api.POST('/api/v1/keys', { body: { name, role, ...(ends ? { expires_at: ends.toISOString() } : {}) } })),
    onError: complain,
    onSettled: () => refresh(),
  })
  if (make.data) return <Shown made={make.data} onClose={onClose} />
  return (
    <Dialog onClose={onClose} title="New key">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!wrong) make.mutate()
        }}
      >
        <TextInput data-autofocus label="Name" description="What it is for: it stands in the audit" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Select mt="sm" label="Role" data={ROLES} value={role} onChange={(value) => setRole(value ?? 'reader')} allowDeselect={false} />
        <TextInput
          mt="sm"
          type="datetime-local"
          label="Expires"
          description={`In ${zoneText(shown)}; empty: never`}
          value={expires}
          error={wrong}
          onChange={(event) => setExpires(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Make none
          </Button>
          <Button type="submit" loading={make.isPending}>
            Make it
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}

function Shown({ made, onClose }: { made: NewKey; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={`The key ${made.key.name}`} closeOnClickOutside={false}>
      <p>This is the only time that it is shown. Keep it where secrets are kept.</p>
      <Code block aria-label="The key" data-secret>
        {made.secret}
      </Code>
      <Group justify="flex-end" mt="md">
        <CopyButton value={made.secret}>
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

function Revoke({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const refresh = useRefresh()
  const revoke = useMutation({
    mutationFn: () => answer(api.DELETE('/api/v1/keys/{key_id}', { params: { path: { key_id: apiKey.key_id } } })),
    onSuccess: () => {
      say(`${apiKey.name} is worth nothing any more`)
      onClose()
    },
    onError: complain,
    onSettled: () => refresh(),
  })
  return (
    <Ask title={`Revoke ${apiKey.name}?`} yes="Revoke it" danger busy={revoke.isPending} onYes={() => revoke.mutate()} onClose={onClose}>
      <p>Whoever uses it is refused within seconds. It cannot be taken back; a new key can be made.</p>
    </Ask>
  )
}
