import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { Problem } from '../../api/problem'
import { scheduleQuery } from '../../api/queries'
import type { Schedule } from '../../api/types'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { differences } from '../../components/Diff'
import { Empty, Refused, Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { complain, say } from '../../components/toasts'
import { Conflict } from './ConflictDialog'
import { draftOf, merged, type Draft } from './document'
import { Editor } from './ScheduleEditor'

const route = getRouteApi('/schedules/$id/edit')
const read = (id: string) => answer(api.GET('/api/v1/schedules/{schedule_id}', { params: { path: { schedule_id: id } } }))

/** Changing a schedule: what it becomes is seen before it is saved, and nobody else's change is lost. */
export function Edit() {
  const { id } = route.useParams()
  const mayEdit = useMay('editor')
  const found = useQuery({ ...scheduleQuery(id), enabled: mayEdit })
  if (!mayEdit) return <Refused title={`You cannot change ${id}`} role="editor" />
  if (found.isPending || found.isFetching && !found.isFetchedAfterMount) return <Waiting lines={10} />
  if (found.isError) return <Wrong error={found.error} onRetry={() => void found.refetch()} />
  return <Open key={id} first={found.data} />
}

/** What was deleted cannot be changed; what is deleted while it is being changed is not taken from under one's hands. */
function Open(found: { first: Schedule }) {
  const [first] = useState(found.first)
  return first.state === 'closed' ? <Deleted id={first.schedule_id} /> : <Inside first={first} />
}

function Deleted({ id }: { id: string }) {
  return (
    <Empty title={`${id} was deleted`}>
      <p>It can be looked at until its retention ends, and not be changed any more.</p>
      <Button renderRoot={(props) => <Link {...props} to="/new" search={{ from: id }} />}>Make another like it</Button>
    </Empty>
  )
}

function Inside({ first }: { first: Schedule }) {
  const id = first.schedule_id
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [base, setBase] = useState<{ draft: Draft; token: number }>(() => ({ draft: draftOf(first.definition), token: first.token }))
  const [draft, setDraft] = useState<Draft>(base.draft)
  const [theirs, setTheirs] = useState<Schedule | null>(null)
  const [edition, setEdition] = useState(0)
  const leave = (ignoreBlocker = false) => void navigate({ to: '/schedules/$id', params: { id }, ignoreBlocker })
  const meet = (found: Schedule) =>
    found.state === 'closed' ? complain(new Error(`${id} was deleted meanwhile: duplicate it to have it again`)) : setTheirs(found)
  const save = useMutation<Schedule, Error, { draft: Draft; token: number }>({
    mutationFn: ({ draft: body, token }) =>
      answer(
        api.POST('/api/v1/schedules/{schedule_id}', {
          params: { path: { schedule_id: id }, header: { 'If-Match': `"${token}"` } },
          body: body as never,
        }),
      ),
    onSuccess: (saved) => {
      say(`${id} is saved, as version ${saved.version}`)
      void refresh(id)
      leave(true)
    },
    onError: (error) => {
      if (error instanceof Problem && error.status === 412) void read(id).then(meet).catch(complain)
    },
  })
  const isConflict = save.error instanceof Problem && save.error.status === 412
  const goOn = (wanted: Draft, found: Schedule) => {
    setTheirs(null)
    setBase({ draft: draftOf(found.definition), token: found.token })
    setDraft(wanted)
    setEdition(edition + 1)
    save.reset()
  }
  return (
    <>
      <PageHead title={`Edit ${id}`} />
      <Editor
        key={edition}
        draft={draft}
        onChange={setDraft}
        id={id}
        token={base.token}
        changed={differences(base.draft, draft).length > 0}
        error={isConflict ? null : save.error}
        busy={save.isPending}
        onSave={() => save.mutate({ draft, token: base.token })}
        onCancel={() => leave()}
      />
      {theirs && (
        <Conflict
          base={base.draft}
          mine={draft}
          theirs={theirs}
          onClose={() => setTheirs(null)}
          onTheirs={() => goOn(draftOf(theirs.definition), theirs)}
          onBoth={() => goOn(merged(base.draft, draft, draftOf(theirs.definition)), theirs)}
          onMine={() => {
            setTheirs(null)
            save.mutate({ draft, token: theirs.token })
          }}
        />
      )}
    </>
  )
}
