import { Chip, Group, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'

import { DAYS, readCron, writeCron, type Built, type Shape } from './cron'
import classes from './Editor.module.css'

const SHAPES: { value: Shape; label: string }[] = [
  { value: 'minutes', label: 'Every few minutes' },
  { value: 'hourly', label: 'Every hour' },
  { value: 'daily', label: 'Every day' },
  { value: 'weekly', label: 'On days of the week' },
  { value: 'monthly', label: 'On a day of the month' },
  { value: 'other', label: 'Written by hand' },
]
const MONTH_DAYS = [
  ...Array.from({ length: 31 }, (_, at) => ({ value: String(at + 1), label: String(at + 1) })),
  { value: 'L', label: 'the last day' },
  { value: 'LW', label: 'the last weekday' },
]

/** A cron string as something to click on; it changes the text, and follows it. */
export function CronBuilder({ name, text, onChange }: { name: string; text: string; onChange: (text: string) => void }) {
  const built = readCron(text)
  const change = (changed: Partial<Built>) => onChange(writeCron({ ...built, ...changed }))
  const { shape } = built
  return (
    <div className={classes.builder} role="group" aria-label={name}>
      <Select
        aria-label="How often"
        data={SHAPES.map((each) => ({ ...each, disabled: each.value === 'other' }))}
        value={shape}
        allowDeselect={false}
        onChange={(value) => value && value !== 'other' && change({ shape: value as Shape })}
      />
      {shape === 'minutes' && (
        <label className={classes.inline}>
          every <Small name="Minutes between" value={built.every} least={1} most={59} onChange={(every) => change({ every })} /> minutes
        </label>
      )}
      {shape === 'hourly' && (
        <label className={classes.inline}>
          at minute <Small name="Minute" value={built.minute} least={0} most={59} onChange={(minute) => change({ minute })} />
        </label>
      )}
      {shape === 'monthly' && (
        <div className={classes.inline}>
          on <Select aria-label="Day of the month" w={130} data={MONTH_DAYS} value={built.day} allowDeselect={false} onChange={(day) => day && change({ day })} />
        </div>
      )}
      {(shape === 'daily' || shape === 'weekly' || shape === 'monthly') && (
        <div className={classes.inline}>
          at <Clock hour={built.hour} minute={built.minute} onChange={change} />
        </div>
      )}
      {shape === 'weekly' && (
        <Chip.Group multiple value={built.days} onChange={(days) => days.length > 0 && change({ days })}>
          <Group gap={4}>
            {DAYS.map((day) => (
              <Chip key={day} value={day} size="xs" classNames={{ label: classes.day }}>
                {day[0] + day.slice(1).toLowerCase()}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      )}
    </div>
  )
}

function Small({ name, value, least, most, onChange }: { name: string; value: number; least: number; most: number; onChange: (value: number) => void }) {
  return (
    <NumberInput
      aria-label={name}
      w={64}
      min={least}
      max={most}
      clampBehavior="strict"
      allowDecimal={false}
      value={value}
      onChange={(typed) => typeof typed === 'number' && onChange(typed)}
    />
  )
}

const two = (number: number) => String(number).padStart(2, '0')

/** A time of day, as clocks show it; while it is typed it may be anything, and counts when it is one. */
function Clock({ hour, minute, onChange }: { hour: number; minute: number; onChange: (changed: { hour: number; minute: number }) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  const type = (text: string) => {
    setTyped(text)
    const found = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim())
    if (found) onChange({ hour: Number(found[1]), minute: Number(found[2]) })
  }
  return (
    <TextInput
      aria-label="Time of day"
      w={64}
      placeholder="09:00"
      value={typed ?? `${two(hour)}:${two(minute)}`}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={() => setTyped(null)}
    />
  )
}
