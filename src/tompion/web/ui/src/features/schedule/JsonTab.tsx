import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { describeQuery } from '../../api/queries'
import { RawText } from '../../components/CodeBlock'

const route = getRouteApi('/schedules/$id/json')

/** The schedule as the API shows it. */
export function Raw() {
  const { id } = route.useParams()
  const { data } = useQuery(describeQuery(id))
  return data && <RawText value={data.schedule} label="the schedule as JSON" />
}
