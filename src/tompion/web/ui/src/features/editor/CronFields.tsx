import { TextInput } from '@mantine/core'

import { CronBuilder } from './CronBuilder'
import type { FieldError } from './document'
import classes from './Editor.module.css'
import { RepeatedFields } from './RepeatedFields'

/** Cron strings, each as text and, beside it, as something to click on. */
export function CronFields({ texts, onChange, fieldError }: { texts: string[]; onChange: (texts: string[]) => void; fieldError: FieldError }) {
  return (
    <RepeatedFields name="cron string" items={texts} newItem="0 0 * * *" onChange={onChange}>
      {(text, at, change) => (
        <div className={classes.cron}>
          <TextInput
            label={at === 0 ? 'Cron' : `Cron ${at + 1}`}
            classNames={{ input: 'mono' }}
            placeholder="0 9 * * MON-FRI"
            value={text}
            error={fieldError('cron', at)}
            spellCheck={false}
            onChange={(event) => change(event.currentTarget.value)}
          />
          <CronBuilder name={at === 0 ? 'Cron builder' : `Cron builder ${at + 1}`} text={text} onChange={change} />
        </div>
      )}
    </RepeatedFields>
  )
}
