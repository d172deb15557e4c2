import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { ApiError } from '../../api/errors'
import { scheduleQuery } from '../../api/queries'
import type { Schedule } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { diffDocuments } from '../../components/Diff'
import { EmptyState, NoAccess, Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { showError, showToast } from '../../components/toasts'
import { ConflictDialog } from './ConflictDialog'
import { draftOf, mergeDrafts, type Draft } from './document'
import { ScheduleEditor } from './ScheduleEditor'

const route = getRouteApi('/schedules/$id/edit')
const fetchSchedule = (id: string) => unwrap(api.GET('/api/v1/schedules/{schedule_id}', { params: { path: { schedule_id: id } } }))

/** Changing a schedule: what it becomes is seen before it is saved, and nobody else's change is lost. */
export function EditScheduleView() {
  const { id } = route.useParams()
  const mayEdit = useIsAllowed('editor')
  const query = useQuery({ ...scheduleQuery(id), enabled: mayEdit })
  if (!mayEdit) return <NoAccess title={`You cannot change ${id}`} role="editor" />
  if (query.isPending || query.isFetching && !query.isFetchedAfterMount) return <Loading lines={10} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <OpenEditor key={id} initial={query.data} />
}

/** What was deleted cannot be changed; what is deleted while it is being changed is not taken from under one's hands. */
function OpenEditor(props: { initial: Schedule }) {
  const [initial] = useState(props.initial)
  return initial.state === 'closed' ? <DeletedSchedule id={initial.schedule_id} /> : <EditForm initial={initial} />
}

function DeletedSchedule({ id }: { id: string }) {
  return (
    <EmptyState title={`${id} was deleted`}>
      <p>It can be looked at until its retention ends, and not be changed any more.</p>
      <Button renderRoot={(props) => <Link {...props} to="/new" search={{ from: id }} />}>Make another like it</Button>
    </EmptyState>
  )
}

function EditForm({ initial }: { initial: Schedule }) {
  const id = initial.schedule_id
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [base, setBase] = useState<{ draft: Draft; token: number }>(() => ({ draft: draftOf(initial.definition), token: initial.token }))
  const [draft, setDraft] = useState<Draft>(base.draft)
  const [theirs, setTheirs] = useState<Schedule | null>(null)
  const [revision, setRevision] = useState(0)
  const leave = (ignoreBlocker = false) => void navigate({ to: '/schedules/$id', params: { id }, ignoreBlocker })
  const onConflict = (current: Schedule) =>
    current.state === 'closed' ? showError(new Error(`${id} was deleted meanwhile: duplicate it to have it again`)) : setTheirs(current)
  const save = useMutation<Schedule, Error, { draft: Draft; token: number }>({
    mutationFn: ({ draft: body, token }) =>
      unwrap(
        api.POST('/api/v1/schedules/{schedule_id}', {
          params: { path: { schedule_id: id }, header: { 'If-Match': `"${token}"` } },
          body: body as never,
        }),
      ),
    onSuccess: (saved) => {
      showToast(`${id} is saved, as version ${saved.version}`)
      void refresh(id)
      leave(true)
    },
    onError: (error) => {
      if (error instanceof ApiError && error.status === 412) void fetchSchedule(id).then(onConflict).catch(showError)
    },
  })
  const isConflict = save.error instanceof ApiError && save.error.status === 412
  const continueWith = (nextDraft: Draft, current: Schedule) => {
    setTheirs(null)
    setBase({ draft: draftOf(current.definition), token: current.token })
    setDraft(nextDraft)
    setRevision(revision + 1)
    save.reset()
  }
  return (
    <>
      <PageHeader title={`Edit ${id}`} />
      <ScheduleEditor
        key={revision}
        draft={draft}
        onChange={setDraft}
        id={id}
        token={base.token}
        isDirty={diffDocuments(base.draft, draft).length > 0}
        error={isConflict ? null : save.error}
        busy={save.isPending}
        onSave={() => save.mutate({ draft, token: base.token })}
        onCancel={() => leave()}
      />
      {theirs && (
        <ConflictDialog
          base={base.draft}
          mine={draft}
          theirs={theirs}
          onClose={() => setTheirs(null)}
          onDiscard={() => continueWith(draftOf(theirs.definition), theirs)}
          onMerge={() => continueWith(mergeDrafts(base.draft, draft, draftOf(theirs.definition)), theirs)}
          onOverwrite={() => {
            setTheirs(null)
            save.mutate({ draft, token: theirs.token })
          }}
        />
      )}
    </>
  )
}
