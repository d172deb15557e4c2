import { Button, Group, Text } from '@mantine/core'

import type { Schedule } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { Diff, diffDocuments } from '../../components/Diff'
import { RelativeTime } from '../../components/Timestamp'
import { draftOf, type Draft } from './document'
import classes from './Editor.module.css'

interface Props {
  base: Draft
  mine: Draft
  theirs: Schedule
  onOverwrite: () => void
  onMerge: () => void
  onDiscard: () => void
  onClose: () => void
}

/** Somebody else saved first: both changes side by side, and the choice. */
export function ConflictDialog({ base, mine, theirs, onOverwrite, onMerge, onDiscard, onClose }: Props) {
  const theirDraft = draftOf(theirs.definition)
  const minePaths = new Set(diffDocuments(base, mine).map(({ path }) => path))
  const conflicts = new Set(diffDocuments(base, theirDraft).flatMap(({ path }) => (minePaths.has(path) ? [path] : [])))
  return (
    <Dialog onClose={onClose} title="Somebody else saved first" size="xl">
      <Text size="sm">
        {theirs.schedule_id} was changed <RelativeTime at={theirs.updated_at} />, after you had opened it. Nothing of yours was saved yet.
      </Text>
      {conflicts.size > 0 && (
        <Text size="sm" mt="xs" fw={550}>
          Both of you changed {[...conflicts].join(', ')}: on top of theirs, yours counts.
        </Text>
      )}
      <div className={classes.both}>
        <section aria-label="What they changed">
          <h2>What they changed</h2>
          <Diff before={base} after={theirDraft} conflicts={conflicts} />
        </section>
        <section aria-label="What you changed">
          <h2>What you changed</h2>
          <Diff before={base} after={mine} conflicts={conflicts} />
        </section>
      </div>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          Go on editing
        </Button>
        <Button variant="default" onClick={onDiscard}>
          Take theirs
        </Button>
        <Button variant="default" onClick={onOverwrite}>
          Save mine instead
        </Button>
        <Button onClick={onMerge}>Mine on top of theirs</Button>
      </Group>
    </Dialog>
  )
}
