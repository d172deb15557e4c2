import { Button, Group, Text } from '@mantine/core'
import type { Schedule } from '../../api/types'
import { Dialog } from '../../components/Dialog'
import { Diff, diffDocuments } from '../../components/Diff'
import { RelativeTime } from '../../components/Timestamp'
import { rich, t } from '../../messages'
import { type Draft, draftOf } from './document'
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

/** Shown when another user saved first: both changes side by side, and the choices. */
export function ConflictDialog({ base, mine, theirs, onOverwrite, onMerge, onDiscard, onClose }: Props) {
  const theirDraft = draftOf(theirs)
  const minePaths = new Set(diffDocuments(base, mine).map(({ path }) => path))
  const conflicts = new Set(diffDocuments(base, theirDraft).flatMap(({ path }) => (minePaths.has(path) ? [path] : [])))
  return (
    <Dialog onClose={onClose} title={t('conflict.title')} size="xl">
      <Text size="sm">
        {rich('conflict.help', { id: theirs.schedule_id, at: <RelativeTime at={theirs.updated_at} /> })}
      </Text>
      {conflicts.size > 0 && (
        <Text size="sm" mt="xs" fw={550}>
          {t('conflict.both', { fields: [...conflicts].join(', ') })}
        </Text>
      )}
      <div className={classes.both}>
        <section aria-label={t('conflict.theirs')}>
          <h2>{t('conflict.theirs')}</h2>
          <Diff before={base} after={theirDraft} conflicts={conflicts} />
        </section>
        <section aria-label={t('conflict.mine')}>
          <h2>{t('conflict.mine')}</h2>
          <Diff before={base} after={mine} conflicts={conflicts} />
        </section>
      </div>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          {t('editor.keepEditing')}
        </Button>
        <Button variant="default" onClick={onDiscard}>
          {t('conflict.discardMine')}
        </Button>
        <Button variant="default" onClick={onOverwrite}>
          {t('conflict.overwrite')}
        </Button>
        <Button onClick={onMerge}>{t('conflict.merge')}</Button>
      </Group>
    </Dialog>
  )
}
