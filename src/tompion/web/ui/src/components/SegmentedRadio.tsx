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

/** One of a few, side by side: radio buttons that cost no more than that. */
export function Segments<T extends string>({ value, onChange, data, disabled, className = '', ...rest }: Props<T>) {
  const name = useId()
  const choices = data.map((each) => (typeof each === 'string' ? { value: each, label: each } : each))
  return (
    <div role="radiogroup" className={`${classes.segments} ${className}`} {...rest}>
      {choices.map((each) => (
        <label key={each.value} className={classes.segment}>
          <input type="radio" name={name} checked={each.value === value} disabled={disabled} onChange={() => onChange(each.value)} />
          <span>{each.label}</span>
        </label>
      ))}
    </div>
  )
}
