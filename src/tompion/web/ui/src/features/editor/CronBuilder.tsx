import { Chip, Group, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { dateText } from '../../lib/format'
import { rich, t } from '../../messages'
import { type CronParts, DAYS, formatCron, parseCron, type Shape } from './cron'
import classes from './Editor.module.css'

const SHAPES: { value: Shape; label: string }[] = [
  { value: 'minutes', label: t('cron.minutes') },
  { value: 'hourly', label: t('cron.hourly') },
  { value: 'daily', label: t('cron.daily') },
  { value: 'weekly', label: t('cron.weekly') },
  { value: 'monthly', label: t('cron.monthly') },
  { value: 'other', label: t('cron.custom') },
]
const MONTH_DAYS = [
  ...Array.from({ length: 31 }, (_, at) => ({ value: String(at + 1), label: String(at + 1) })),
  { value: 'L', label: t('cron.lastDay') },
  { value: 'LW', label: t('cron.lastWeekday') },
]

/** Inputs for common cron expressions. They follow the text and change it. */
export function CronBuilder({
  name,
  text,
  onChange,
}: {
  name: string
  text: string
  onChange: (text: string) => void
}) {
  const parts = parseCron(text)
  const change = (changed: Partial<CronParts>) => onChange(formatCron({ ...parts, ...changed }))
  const { shape } = parts
  return (
    <div className={classes.builder} role="group" aria-label={name}>
      <Select
        aria-label={t('cron.frequency')}
        data={SHAPES.map((option) => ({ ...option, disabled: option.value === 'other' }))}
        value={shape}
        allowDeselect={false}
        onChange={(value) => value && value !== 'other' && change({ shape: value as Shape })}
      />
      {shape === 'minutes' && (
        <div className={classes.inline}>
          {rich('cron.everyMinutes', {
            input: (
              <SmallNumber
                name={t('cron.intervalMinutes')}
                value={parts.every}
                min={1}
                max={59}
                onChange={(every) => change({ every })}
              />
            ),
          })}
        </div>
      )}
      {shape === 'hourly' && (
        <div className={classes.inline}>
          {rich('cron.atMinute', {
            input: (
              <SmallNumber
                name={t('cron.minute')}
                value={parts.minute}
                min={0}
                max={59}
                onChange={(minute) => change({ minute })}
              />
            ),
          })}
        </div>
      )}
      {shape === 'monthly' && (
        <div className={classes.inline}>
          {rich('cron.onDay', {
            input: (
              <Select
                aria-label={t('cron.dayOfMonth')}
                w={130}
                data={MONTH_DAYS}
                value={parts.day}
                allowDeselect={false}
                onChange={(day) => day && change({ day })}
              />
            ),
          })}
        </div>
      )}
      {(shape === 'daily' || shape === 'weekly' || shape === 'monthly') && (
        <div className={classes.inline}>
          {rich('cron.atTime', { input: <TimeOfDay hour={parts.hour} minute={parts.minute} onChange={change} /> })}
        </div>
      )}
      {shape === 'weekly' && (
        <Chip.Group multiple value={parts.days} onChange={(days) => days.length > 0 && change({ days })}>
          <Group gap={4}>
            {DAYS.map((day) => (
              <Chip key={day} value={day} size="xs" classNames={{ label: classes.day }}>
                {dayName(day)}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      )}
    </div>
  )
}

function SmallNumber({
  name,
  value,
  min,
  max,
  onChange,
}: {
  name: string
  value: number
  min: number
  max: number
  onChange: (value: number) => void
}) {
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

/** Return the short name of a day of the week such as "MON". */
const dayName = (day: string) => dateText(`2026-11-${16 + DAYS.indexOf(day)}`, { weekday: 'short' })

const twoDigits = (number: number) => String(number).padStart(2, '0')

/** An input for a time of day. The value changes as soon as the text is a valid time. */
function TimeOfDay({
  hour,
  minute,
  onChange,
}: {
  hour: number
  minute: number
  onChange: (changed: { hour: number; minute: number }) => void
}) {
  const [input, setInput] = useState<string | null>(null)
  const change = (text: string) => {
    setInput(text)
    const match = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim())
    if (match) onChange({ hour: Number(match[1]), minute: Number(match[2]) })
  }
  return (
    <TextInput
      aria-label={t('cron.timeOfDay')}
      w={64}
      placeholder="09:00"
      value={input ?? `${twoDigits(hour)}:${twoDigits(minute)}`}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={() => setInput(null)}
    />
  )
}
