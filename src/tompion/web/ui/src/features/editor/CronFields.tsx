import { TextInput } from '@mantine/core'
import { t } from '../../messages'

import { CronBuilder } from './CronBuilder'
import type { FieldError } from './document'
import classes from './Editor.module.css'
import { numbered, RepeatedFields } from './RepeatedFields'

/** Cron expressions, each as text with a builder beside it. */
export function CronFields({
  texts,
  onChange,
  fieldError,
}: {
  texts: string[]
  onChange: (texts: string[]) => void
  fieldError: FieldError
}) {
  return (
    <RepeatedFields name={t('timing.itemCron')} items={texts} newItem="0 0 * * *" onChange={onChange}>
      {(text, at, change) => (
        <div className={classes.cron}>
          <TextInput
            label={numbered(t('timing.cron'), at)}
            classNames={{ input: 'mono' }}
            placeholder="0 9 * * MON-FRI"
            value={text}
            error={fieldError('cron', at)}
            spellCheck={false}
            onChange={(event) => change(event.currentTarget.value)}
          />
          <CronBuilder name={numbered(t('timing.cronBuilder'), at)} text={text} onChange={change} />
        </div>
      )}
    </RepeatedFields>
  )
}
