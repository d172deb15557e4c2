import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { scheduleQuery } from '../../api/queries'
import type { Schedule } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { diffDocuments } from '../../components/Diff'
import { NoAccess, Loading, ErrorState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { showToast } from '../../components/toasts'
import { draftOf, NEW_DRAFT, type Draft } from './document'
import { ScheduleEditor } from './ScheduleEditor'

const route = getRouteApi('/new')

/** A new schedule, from nothing or like another one. */
export function CreateScheduleView() {
  const { from } = route.useSearch()
  const mayEdit = useIsAllowed('editor')
  const source = useQuery({ ...scheduleQuery(from ?? ''), enabled: mayEdit && from !== undefined })
  if (!mayEdit) return <NoAccess title="You cannot make schedules here" role="editor" />
  if (from !== undefined && source.isPending) return <Loading lines={10} />
  if (source.isError) return <ErrorState error={source.error} onRetry={() => void source.refetch()} />
  return <CreateForm from={from} initialDraft={source.data ? draftOf(source.data.definition) : NEW_DRAFT} />
}

function CreateForm({ from, initialDraft }: { from: string | undefined; initialDraft: Draft }) {
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [draft, setDraft] = useState(initialDraft)
  const initialId = from === undefined ? '' : `${from}-copy`
  const [id, setId] = useState(initialId)
  const create = useMutation<Schedule, Error>({
    mutationFn: () => unwrap(api.POST('/api/v1/schedules', { body: { ...draft, schedule_id: id } as never })),
    onSuccess: (created) => {
      showToast(`${created.schedule_id} is there`)
      void refresh()
      void navigate({ to: '/schedules/$id', params: { id: created.schedule_id }, ignoreBlocker: true })
    },
  })
  return (
    <>
      <PageHeader title={from === undefined ? 'New schedule' : `New schedule, like ${from}`} />
      <ScheduleEditor
        draft={draft}
        onChange={setDraft}
        id={id}
        onRename={setId}
        isDirty={id !== initialId || diffDocuments(initialDraft, draft).length > 0}
        error={create.error}
        busy={create.isPending}
        onSave={() => create.mutate()}
        onCancel={() => void navigate({ to: '/schedules' })}
      />
    </>
  )
}
