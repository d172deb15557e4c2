import { ActionIcon, CopyButton, Tooltip } from '@mantine/core'

import { Icon } from './Icon'
import classes from './CodeBlock.module.css'

/** What somebody else has written, as text and nothing but text; JSON is set out. */
export function CodeBlock({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    <div className={classes.raw}>
      <pre className="raw" tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <CopyIcon text={text} name={`Copy ${label}`} />
    </div>
  )
}

export function CopyIcon({ text, name }: { text: string; name: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : name}>
          <ActionIcon className={classes.copy} aria-label={name} onClick={copy} size="sm">
            <Icon name={copied ? 'check' : 'copy'} size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}
