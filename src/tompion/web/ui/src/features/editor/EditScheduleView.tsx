import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/errors'
import { useRefresh } from '../../api/mutations'
import { scheduleQuery } from '../../api/queries'
import { fetchSchedule, replaceSchedule } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import type { Schedule } from '../../api/types'
import { diffDocuments } from '../../components/Diff'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState, ErrorState, Loading, NoAccess } from '../../components/states'
import { showError, showToast } from '../../components/toasts'
import { t } from '../../messages'
import { ConflictDialog } from './ConflictDialog'
import { type Draft, draftOf, mergeDrafts } from './document'
import { ScheduleEditor } from './ScheduleEditor'

const route = getRouteApi('/schedules/$id/edit')

/** Edits a schedule. The effect is shown before saving, and a change by another user is never overwritten silently. */
export function EditScheduleView() {
  const { id } = route.useParams()
  const mayEdit = useIsAllowed('editor')
  const query = useQuery({ ...scheduleQuery(id), enabled: mayEdit })
  if (!mayEdit) return <NoAccess title={t('editor.noEditPermission', { id })} needs="editor" />
  if (query.isPending || (query.isFetching && !query.isFetchedAfterMount)) return <Loading lines={10} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <OpenEditor key={id} initial={query.data} />
}

/** The form for the schedule as it was opened. If it is deleted meanwhile, the draft stays on the screen. */
function OpenEditor(props: { initial: Schedule }) {
  const [initial] = useState(props.initial)
  return initial.status === 'closed' ? <DeletedSchedule id={initial.schedule_id} /> : <EditForm initial={initial} />
}

function DeletedSchedule({ id }: { id: string }) {
  return (
    <EmptyState title={t('editor.deletedTitle', { id })}>
      <p>{t('editor.deletedHelp')}</p>
      <Button renderRoot={(props) => <Link {...props} to="/new" search={{ from: id }} />}>
        {t('schedule.duplicate')}
      </Button>
    </EmptyState>
  )
}

function EditForm({ initial }: { initial: Schedule }) {
  const id = initial.schedule_id
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [base, setBase] = useState<{ draft: Draft; conflictToken: number }>(() => ({
    draft: draftOf(initial),
    conflictToken: initial.conflict_token,
  }))
  const [draft, setDraft] = useState<Draft>(base.draft)
  const [theirs, setTheirs] = useState<Schedule | null>(null)
  const [revision, setRevision] = useState(0)
  const leave = (ignoreBlocker = false) => void navigate({ to: '/schedules/$id', params: { id }, ignoreBlocker })
  const onConflict = (current: Schedule) =>
    current.status === 'closed' ? showError(new Error(t('editor.deletedMeanwhile', { id }))) : setTheirs(current)
  const save = useMutation<Schedule, Error, { draft: Draft; conflictToken: number }>({
    mutationFn: ({ draft: body, conflictToken }) => replaceSchedule(id, body, conflictToken),
    onSuccess: (saved) => {
      showToast(t('editor.saved', { id, version: saved.definition_version }))
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
    setBase({ draft: draftOf(current), conflictToken: current.conflict_token })
    setDraft(nextDraft)
    setRevision(revision + 1)
    save.reset()
  }
  return (
    <>
      <PageHeader title={t('editor.editTitle', { id })} />
      <ScheduleEditor
        key={revision}
        draft={draft}
        onChange={setDraft}
        id={id}
        conflictToken={base.conflictToken}
        isDirty={diffDocuments(base.draft, draft).length > 0}
        error={isConflict ? null : save.error}
        busy={save.isPending}
        onSave={() => save.mutate({ draft, conflictToken: base.conflictToken })}
        onCancel={() => leave()}
      />
      {theirs && (
        <ConflictDialog
          base={base.draft}
          mine={draft}
          theirs={theirs}
          onClose={() => setTheirs(null)}
          onDiscard={() => continueWith(draftOf(theirs), theirs)}
          onMerge={() => continueWith(mergeDrafts(base.draft, draft, draftOf(theirs)), theirs)}
          onOverwrite={() => {
            setTheirs(null)
            save.mutate({ draft, conflictToken: theirs.conflict_token })
          }}
        />
      )}
    </>
  )
}
