import { VisuallyHidden } from '@mantine/core'
import type { ReactNode } from 'react'
import { t } from '../messages'

import { ErrorState, Loading } from './states'

export interface Column<T> {
  name: string
  cell: (item: T) => ReactNode
  className?: string
}

interface Props<T> {
  query: { isPending: boolean; isError: boolean; error: unknown; refetch: () => unknown }
  items: T[]
  keyOf: (item: T) => string
  columns: Column<T>[]
  /** The actions of an item, if the user may perform any. */
  actions?: (item: T) => ReactNode
  empty: ReactNode
  /** Elements below the table, such as a button for more rows. */
  children?: ReactNode
}

/** A list as a table with actions on the right, with states for loading, errors and no rows. */
export function DataTable<T>({ query, items, keyOf, columns, actions, empty, children }: Props<T>) {
  if (query.isPending) return <Loading />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (items.length === 0) return empty
  return (
    <>
      <div className="panel scroll-x">
        <table className="plain-table stacked">
          <thead>
            <tr>
              {columns.map(({ name }) => (
                <th key={name}>{name}</th>
              ))}
              {actions && (
                <th>
                  <VisuallyHidden>{t('common.actions')}</VisuallyHidden>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={keyOf(item)}>
                {columns.map(({ name, cell, className }) => (
                  <td key={name} data-name={name} className={className}>
                    {cell(item)}
                  </td>
                ))}
                {actions && <td className="actions">{actions(item)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {children}
    </>
  )
}
