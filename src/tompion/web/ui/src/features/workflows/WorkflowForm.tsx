import { Button, Group, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { errorHint, errorMessage } from '../../api/errors'
import type { Workflow } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Dialog } from '../../components/Dialog'
import { showToast } from '../../components/toasts'

const TEMPLATE = { executor: 'http', options: { url: 'https://example.org/hook', method: 'POST' } }

/** Store a workflow, or the next version of one. */
export function WorkflowForm({ workflow, onClose }: { workflow?: Workflow; onClose: () => void }) {
  const refresh = useRefresh()
  const [id, setId] = useState(workflow?.workflow_id ?? '')
  const [text, setText] = useState(JSON.stringify(workflow?.document ?? TEMPLATE, null, 2))
  const save = useMutation<Workflow, Error>({
    mutationFn: () =>
      unwrap(api.PUT('/api/v1/workflows/{workflow_id}', { params: { path: { workflow_id: id } }, body: JSON.parse(text) })),
    onSuccess: (saved) => {
      showToast(`${saved.workflow_id} is stored, as version ${saved.version}`)
      onClose()
    },
    onSettled: () => refresh(),
  })
  const error = save.error && (save.error instanceof SyntaxError ? 'This is not JSON' : errorMessage(save.error))
  const hint = errorHint(save.error)
  return (
    <Dialog onClose={onClose} title={workflow ? `A new version of ${workflow.workflow_id}` : 'New workflow'} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
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
          error={error && (hint ? `${error}. ${hint}` : error)}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button type="submit" loading={save.isPending}>
            Store it
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
