import { ActionIcon, CopyButton, Tooltip } from '@mantine/core'
import { t } from '../messages'
import classes from './CodeBlock.module.css'
import { Icon } from './Icon'

/** Text from a run or a document, never rendered as HTML. JSON is indented. */
export function CodeBlock({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    <div className={classes.raw}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled with the keyboard */}
      <pre className="raw" tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <CopyIcon text={text} name={t('common.copyOf', { name: label })} />
    </div>
  )
}

export function CopyIcon({ text, name }: { text: string; name: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t('common.copied') : name}>
          <ActionIcon className={classes.copy} aria-label={name} onClick={copy} size="sm">
            <Icon name={copied ? 'check' : 'copy'} size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}
