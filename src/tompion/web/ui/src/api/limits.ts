/** How many schedules a list reads at a time. */
export const SCHEDULES_PER_PAGE = 100

/** How many of them are looked at more closely at a time. */
export const SUMMARIES_PER_REQUEST = 50

/** The next day by the minute: the hour is the first of its stretches, so it is asked for once. */
export const FORECAST_PARAMS = { seconds: 86_400, stretches: 1_440 }
