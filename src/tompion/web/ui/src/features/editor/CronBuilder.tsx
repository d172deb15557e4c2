import { Chip, Group, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'

import { DAYS, parseCron, formatCron, type CronParts, type Shape } from './cron'
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
  const parts = parseCron(text)
  const change = (changed: Partial<CronParts>) => onChange(formatCron({ ...parts, ...changed }))
  const { shape } = parts
  return (
    <div className={classes.builder} role="group" aria-label={name}>
      <Select
        aria-label="How often"
        data={SHAPES.map((option) => ({ ...option, disabled: option.value === 'other' }))}
        value={shape}
        allowDeselect={false}
        onChange={(value) => value && value !== 'other' && change({ shape: value as Shape })}
      />
      {shape === 'minutes' && (
        <label className={classes.inline}>
          every <SmallNumber name="Minutes between" value={parts.every} min={1} max={59} onChange={(every) => change({ every })} /> minutes
        </label>
      )}
      {shape === 'hourly' && (
        <label className={classes.inline}>
          at minute <SmallNumber name="Minute" value={parts.minute} min={0} max={59} onChange={(minute) => change({ minute })} />
        </label>
      )}
      {shape === 'monthly' && (
        <div className={classes.inline}>
          on <Select aria-label="Day of the month" w={130} data={MONTH_DAYS} value={parts.day} allowDeselect={false} onChange={(day) => day && change({ day })} />
        </div>
      )}
      {(shape === 'daily' || shape === 'weekly' || shape === 'monthly') && (
        <div className={classes.inline}>
          at <TimeOfDay hour={parts.hour} minute={parts.minute} onChange={change} />
        </div>
      )}
      {shape === 'weekly' && (
        <Chip.Group multiple value={parts.days} onChange={(days) => days.length > 0 && change({ days })}>
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

function SmallNumber({ name, value, min, max, onChange }: { name: string; value: number; min: number; max: number; onChange: (value: number) => void }) {
  return (
    <NumberInput
      aria-label={name}
      w={64}
      min={min}
      max={max}
      clampBehavior="strict"
      allowDecimal={false}
      value={value}
      onChange={(value) => typeof value === 'number' && onChange(value)}
    />
  )
}

const twoDigits = (number: number) => String(number).padStart(2, '0')

/** A time of day, as clocks show it; while it is typed it may be anything, and counts when it is one. */
function TimeOfDay({ hour, minute, onChange }: { hour: number; minute: number; onChange: (changed: { hour: number; minute: number }) => void }) {
  const [input, setInput] = useState<string | null>(null)
  const change = (text: string) => {
    setInput(text)
    const match = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim())
    if (match) onChange({ hour: Number(match[1]), minute: Number(match[2]) })
  }
  return (
    <TextInput
      aria-label="Time of day"
      w={64}
      placeholder="09:00"
      value={input ?? `${twoDigits(hour)}:${twoDigits(minute)}`}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={() => setInput(null)}
    />
  )
}
