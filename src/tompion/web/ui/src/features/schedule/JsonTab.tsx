import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { descriptionQuery } from '../../api/queries'
import { CodeBlock } from '../../components/CodeBlock'
import { t } from '../../messages'

const route = getRouteApi('/schedules/$id/json')

/** The schedule as the API returns it. */
export function JsonTab() {
  const { id } = route.useParams()
  const { data } = useQuery(descriptionQuery(id))
  return data && <CodeBlock value={data.schedule} label={t('json.label')} />
}
