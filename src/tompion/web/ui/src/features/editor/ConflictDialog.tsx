import { Button, Group, Text } from '@mantine/core'

import type { Schedule } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { Diff, differences } from '../../components/Diff'
import { Relative } from '../../components/Timestamp'
import { draftOf, type Draft } from './document'
import classes from './Editor.module.css'

interface Props {
  base: Draft
  mine: Draft
  theirs: Schedule
  onMine: () => void
  onBoth: () => void
  onTheirs: () => void
  onClose: () => void
}

/** Somebody else saved first: both changes side by side, and the choice. */
export function Conflict({ base, mine, theirs, onMine, onBoth, onTheirs, onClose }: Props) {
  const saved = draftOf(theirs.definition)
  const ours = new Set(differences(base, mine).map(({ path }) => path))
  const contested = new Set(differences(base, saved).flatMap(({ path }) => (ours.has(path) ? [path] : [])))
  return (
    <Dialog onClose={onClose} title="Somebody else saved first" size="xl">
      <Text size="sm">
        {theirs.schedule_id} was changed <Relative at={theirs.updated_at} />, after you had opened it. Nothing of yours was saved yet.
      </Text>
      {contested.size > 0 && (
        <Text size="sm" mt="xs" fw={550}>
          Both of you changed {[...contested].join(', ')}: on top of theirs, yours counts.
        </Text>
      )}
      <div className={classes.both}>
        <section aria-label="What they changed">
          <h2>What they changed</h2>
          <Diff before={base} after={saved} contested={contested} />
        </section>
        <section aria-label="What you changed">
          <h2>What you changed</h2>
          <Diff before={base} after={mine} contested={contested} />
        </section>
      </div>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          Go on editing
        </Button>
        <Button variant="default" onClick={onTheirs}>
          Take theirs
        </Button>
        <Button variant="default" onClick={onMine}>
          Save mine instead
        </Button>
        <Button onClick={onBoth}>Mine on top of theirs</Button>
      </Group>
    </Dialog>
  )
}
