import { TextInput } from '@mantine/core'

import { CronBuilder } from './CronBuilder'
import type { WrongAt } from './document'
import classes from './Editor.module.css'
import { Rows } from './RepeatedFields'

/** Cron strings, each as text and, beside it, as something to click on. */
export function Crons({ texts, onChange, wrong }: { texts: string[]; onChange: (texts: string[]) => void; wrong: WrongAt }) {
  return (
    <Rows name="cron string" items={texts} fresh="0 0 * * *" onChange={onChange}>
      {(text, at, change) => (
        <div className={classes.cron}>
          <TextInput
            label={at === 0 ? 'Cron' : `Cron ${at + 1}`}
            classNames={{ input: 'mono' }}
            placeholder="0 9 * * MON-FRI"
            value={text}
            error={wrong('cron', at)}
            spellCheck={false}
            onChange={(event) => change(event.currentTarget.value)}
          />
          <CronBuilder name={at === 0 ? 'Cron builder' : `Cron builder ${at + 1}`} text={text} onChange={change} />
        </div>
      )}
    </Rows>
  )
}
