import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { configQuery } from '../../api/queries'
import { DescriptionList } from '../../components/DescriptionList'
import { Icon } from '../../components/Icon'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { durationText, NO_VALUE } from '../../lib/format'
import { rich, t } from '../../messages'
import classes from './SettingsView.module.css'

const CONFIG_COMMAND = 'tompion config'
const KIB = 1_024

interface ServiceConfig {
  file: string | null
  values: { name: string; value: unknown; origin: string; default: unknown; meaning: string; unit: string | null }[]
  executors: string[]
  schedules: string[]
  notifications: string[]
  issuers: string[]
  certificates: string[]
}

/** All settings of the server, each with the source of its value. */
export function SettingsView() {
  const query = useQuery(configQuery())
  const [search, setSearch] = useState('')
  const config = query.data as ServiceConfig | undefined
  const settings = (config?.values ?? []).filter((setting) =>
    `${setting.name} ${setting.value} ${setting.origin} ${setting.meaning}`
      .toLowerCase()
      .includes(search.toLowerCase()),
  )
  return (
    <>
      <PageHeader title={t('nav.settings')}>
        <TextInput
          aria-label={t('settings.search')}
          placeholder={t('settings.search')}
          data-search
          leftSection={<Icon name="search" size={14} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      </PageHeader>
      {query.isPending ? (
        <Loading lines={12} />
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <p className="dim">{rich('settings.help', { command: <code>{CONFIG_COMMAND}</code> })}</p>
          {config?.file && (
            <div className={`panel ${classes.sources}`}>
              <DescriptionList
                items={[
                  [t('settings.file'), config.file],
                  [t('settings.executors'), config?.executors.join(', ')],
                  [t('settings.schedules'), config?.schedules.join(', ')],
                  [t('settings.notifications'), config?.notifications.join(', ')],
                  [t('settings.issuers'), config?.issuers.join(', ')],
                  [t('settings.certificates'), config?.certificates.join(', ')],
                ]}
              />
            </div>
          )}
          {settings.length === 0 ? (
            <EmptyState title={t('settings.noMatch')}>
              <Button variant="default" onClick={() => setSearch('')}>
                {t('common.clear')}
              </Button>
            </EmptyState>
          ) : (
            <div className="panel scroll-x">
              <table className={`plain-table stacked ${classes.table}`}>
                <thead>
                  <tr>
                    <th>{t('settings.setting')}</th>
                    <th>{t('settings.value')}</th>
                    <th>{t('settings.source')}</th>
                  </tr>
                </thead>
                <tbody>
                  {settings.map((setting) => (
                    <tr key={setting.name}>
                      <td>
                        <div>
                          <span className="mono">{setting.name}</span>
                          <p className={classes.meaning}>{formatMeaning(setting.meaning)}</p>
                        </div>
                      </td>
                      <td data-name={t('settings.value')}>
                        <div>
                          <span className="mono">{formatValue(setting.value)}</span>
                          {unitText(setting.value, setting.unit) && (
                            <span className={classes.unit}>{unitText(setting.value, setting.unit)}</span>
                          )}
                        </div>
                      </td>
                      <td data-name={t('settings.source')}>
                        <div>
                          <span className={setting.origin === 'default' ? 'dim' : undefined}>{setting.origin}</span>
                          {setting.origin !== 'default' && (
                            <span className={classes.unit}>
                              {t('settings.default', { value: formatValue(setting.default) })}
                            </span>
                          )}
                        </div>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </>
  )
}

function formatValue(value: unknown): string {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return NO_VALUE
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Return a value with its unit for people: "2m" for 120000 milliseconds, "1 MiB" for 1048576 bytes. */
function unitText(value: unknown, unit: string | null): string {
  if (!unit) return ''
  const ms = typeof value !== 'number' ? 0 : unit === 'milliseconds' ? value : unit === 'seconds' ? value * 1_000 : 0
  if (unit === 'bytes' && typeof value === 'number' && value >= KIB)
    return value >= KIB * KIB
      ? t('settings.mebibytes', { size: value / KIB / KIB })
      : t('settings.kibibytes', { size: value / KIB })
  return ms >= 1_000 ? durationText(ms).replace(/\.0 s$/, ' s') : unit
}

/** Format the description of a setting as a sentence, with code in monospace. */
function formatMeaning(meaning: string): ReactNode {
  const first = /^\w+[:,]/.test(meaning) ? meaning.charAt(0) : meaning.charAt(0).toUpperCase() // a description can begin with a value
  const parts = `${first}${meaning.slice(1)}${/[.…]$/.test(meaning) ? '' : '.'}`.split('`')
  return parts.map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))
}
