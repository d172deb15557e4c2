import { Button, Group, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { hintOf, messageOf } from '../../api/problem'
import type { Workflow } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { say } from '../../components/toasts'

const FIRST = { executor: 'http', options: { url: 'https://example.org/hook', method: 'POST' } }

/** Store a workflow, or the next version of one. */
export function Put({ workflow, onClose }: { workflow?: Workflow; onClose: () => void }) {
  const refresh = useRefresh()
  const [id, setId] = useState(workflow?.workflow_id ?? '')
  const [text, setText] = useState(JSON.stringify(workflow?.document ?? FIRST, null, 2))
  const put = useMutation<Workflow, Error>({
    mutationFn: () =>
      answer(api.PUT('/api/v1/workflows/{workflow_id}', { params: { path: { workflow_id: id } }, body: JSON.parse(text) })),
    onSuccess: (stored) => {
      say(`${stored.workflow_id} is stored, as version ${stored.version}`)
      onClose()
    },
    onSettled: () => refresh(),
  })
  const wrong = put.error && (put.error instanceof SyntaxError ? 'This is not JSON' : messageOf(put.error))
  const hint = hintOf(put.error)
  return (
    <Dialog onClose={onClose} title={workflow ? `A new version of ${workflow.workflow_id}` : 'New workflow'} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          put.mutate()
        }}
      >
        {!workflow && <TextInput data-autofocus label="Name" required value={id} onChange={(event) => setId(event.currentTarget.value)} />}
        <Textarea
          mt="sm"
          label="Document"
          description="JSON, as the executor wants it"
          autosize
          minRows={8}
          maxRows={24}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          error={wrong && (hint ? `${wrong}. ${hint}` : wrong)}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button type="submit" loading={put.isPending}>
            Store it
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
