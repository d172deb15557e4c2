import { useId } from 'react'

import classes from './SegmentedRadio.module.css'

interface Props<T extends string> {
  'aria-label': string
  value: T
  onChange: (value: T) => void
  data: readonly (T | { value: T; label: string })[]
  disabled?: boolean
  className?: string
}

/** A choice between a few options, as plain radio buttons side by side. */
export function SegmentedRadio<T extends string>({
  value,
  onChange,
  data,
  disabled,
  className = '',
  ...rest
}: Props<T>) {
  const name = useId()
  const choices = data.map((option) => (typeof option === 'string' ? { value: option, label: option } : option))
  return (
    <div role="radiogroup" className={`${classes.segments} ${className}`} {...rest}>
      {choices.map((option) => (
        <label key={option.value} className={classes.segment}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            disabled={disabled}
            onChange={() => onChange(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </div>
  )
}
