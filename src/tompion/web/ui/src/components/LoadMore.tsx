import { Button } from '@mantine/core'
import { t } from '../messages'

interface PagedQuery {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => unknown
}

/** A button that loads the next page of a list, if there is one. */
export function LoadMore({ query }: { query: PagedQuery }) {
  if (!query.hasNextPage) return null
  return (
    <Button mt="sm" variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
      {t('common.loadMore')}
    </Button>
  )
}
