import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { scheduleQuery } from '../../api/queries'
import type { Schedule } from '../../api/types'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { differences } from '../../components/Diff'
import { Refused, Waiting, Wrong } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { say } from '../../components/toasts'
import { draftOf, FIRST, type Draft } from './document'
import { Editor } from './ScheduleEditor'

const route = getRouteApi('/new')

/** A new schedule, from nothing or like another one. */
export function Create() {
  const { from } = route.useSearch()
  const mayEdit = useMay('editor')
  const model = useQuery({ ...scheduleQuery(from ?? ''), enabled: mayEdit && from !== undefined })
  if (!mayEdit) return <Refused title="You cannot make schedules here" role="editor" />
  if (from !== undefined && model.isPending) return <Waiting lines={10} />
  if (model.isError) return <Wrong error={model.error} onRetry={() => void model.refetch()} />
  return <Inside from={from} first={model.data ? draftOf(model.data.definition) : FIRST} />
}

function Inside({ from, first }: { from: string | undefined; first: Draft }) {
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [draft, setDraft] = useState(first)
  const name = from === undefined ? '' : `${from}-copy`
  const [id, setId] = useState(name)
  const create = useMutation<Schedule, Error>({
    mutationFn: () => answer(api.POST('/api/v1/schedules', { body: { ...draft, schedule_id: id } as never })),
    onSuccess: (made) => {
      say(`${made.schedule_id} is there`)
      void refresh()
      void navigate({ to: '/schedules/$id', params: { id: made.schedule_id }, ignoreBlocker: true })
    },
  })
  return (
    <>
      <PageHead title={from === undefined ? 'New schedule' : `New schedule, like ${from}`} />
      <Editor
        draft={draft}
        onChange={setDraft}
        id={id}
        onName={setId}
        changed={id !== name || differences(first, draft).length > 0}
        error={create.error}
        busy={create.isPending}
        onSave={() => create.mutate()}
        onCancel={() => void navigate({ to: '/schedules' })}
      />
    </>
  )
}
