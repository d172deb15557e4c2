import { Button, Group, Modal, Text } from '@mantine/core'

import type { Schedule } from '../../api/types'
import { Diff } from '../../parts/Diff'
import { Relative } from '../../parts/Moment'
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
  return (
    <Modal opened onClose={onClose} title="Somebody else saved first" size="xl">
      <Text size="sm">
        {theirs.schedule_id} was changed <Relative at={theirs.updated_at} />, after you had opened it. Nothing of yours was saved yet.
      </Text>
      <div className={classes.both}>
        <section aria-label="What they changed">
          <h2>What they changed</h2>
          <Diff before={base} after={draftOf(theirs.definition)} />
        </section>
        <section aria-label="What you changed">
          <h2>What you changed</h2>
          <Diff before={base} after={mine} />
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
    </Modal>
  )
}
