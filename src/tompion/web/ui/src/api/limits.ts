/** Schedules per page of the list. */
export const SCHEDULES_PER_PAGE = 100

/** Schedules per request for summaries. */
export const SUMMARIES_PER_REQUEST = 50

/** The next day by the minute. Its first buckets are the next hour, so one request serves both ranges. */
export const FORECAST_PARAMS = { seconds: 86_400, buckets: 1_440 }

/** The number of problems to load. */
export const MAX_PROBLEMS = 50
