import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useRefresh } from '../../api/mutations'

import { scheduleQuery } from '../../api/queries'
import { createSchedule } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import type { Schedule } from '../../api/types'
import { diffDocuments } from '../../components/Diff'
import { PageHeader } from '../../components/PageHeader'
import { ErrorState, Loading, NoAccess } from '../../components/states'
import { showToast } from '../../components/toasts'
import { t } from '../../messages'
import { type Draft, draftOf, NEW_DRAFT } from './document'
import { ScheduleEditor } from './ScheduleEditor'

const route = getRouteApi('/new')

/** Creates a schedule, empty or as a duplicate of another one. */
export function CreateScheduleView() {
  const { from } = route.useSearch()
  const mayEdit = useIsAllowed('editor')
  const source = useQuery({ ...scheduleQuery(from ?? ''), enabled: mayEdit && from !== undefined })
  if (!mayEdit) return <NoAccess title={t('editor.noCreatePermission')} needs="editor" />
  if (from !== undefined && source.isPending) return <Loading lines={10} />
  if (source.isError) return <ErrorState error={source.error} onRetry={() => void source.refetch()} />
  return <CreateForm from={from} initialDraft={source.data ? draftOf(source.data) : NEW_DRAFT} />
}

function CreateForm({ from, initialDraft }: { from: string | undefined; initialDraft: Draft }) {
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [draft, setDraft] = useState(initialDraft)
  const initialId = from === undefined ? '' : `${from}-copy`
  const [id, setId] = useState(initialId)
  const create = useMutation<Schedule, Error>({
    mutationFn: () => createSchedule(id, draft),
    onSuccess: (created) => {
      showToast(t('editor.created', { id: created.schedule_id }))
      void refresh()
      void navigate({ to: '/schedules/$id', params: { id: created.schedule_id }, ignoreBlocker: true })
    },
  })
  return (
    <>
      <PageHeader title={from === undefined ? t('editor.newTitle') : t('editor.duplicateTitle', { id: from })} />
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
