import { Button, Group, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorHint, errorMessage } from '../../api/errors'
import { useRefresh } from '../../api/mutations'
import { saveWorkflow } from '../../api/requests'
import type { Workflow } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { showToast } from '../../components/toasts'
import { t } from '../../messages'

const TEMPLATE = { executor: 'http', options: { url: 'https://example.org/hook', method: 'POST' } }

/** Creates a workflow or saves a new version of one. */
export function WorkflowForm({ workflow, onClose }: { workflow?: Workflow; onClose: () => void }) {
  const refresh = useRefresh()
  const [id, setId] = useState(workflow?.workflow_id ?? '')
  const [text, setText] = useState(JSON.stringify(workflow?.document ?? TEMPLATE, null, 2))
  const save = useMutation<Workflow, Error>({
    mutationFn: () => saveWorkflow(id, text),
    onSuccess: (saved) => {
      showToast(t('workflows.savedVersion', { id: saved.workflow_id, version: saved.version }))
      onClose()
    },
    onSettled: () => refresh(),
  })
  const error = save.error && (save.error instanceof SyntaxError ? t('common.invalidJson') : errorMessage(save.error))
  const hint = errorHint(save.error)
  return (
    <Dialog
      onClose={onClose}
      title={workflow ? t('workflows.editTitle', { id: workflow.workflow_id }) : t('workflows.new')}
      size="lg"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        {!workflow && (
          <TextInput
            data-autofocus
            label={t('common.name')}
            required
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
          />
        )}
        <Textarea
          mt="sm"
          label={t('workflows.definition')}
          description={t('workflows.definitionHelp')}
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
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {t('common.save')}
          </Button>
        </Group>
      </form>
    </Dialog>
  )
}
