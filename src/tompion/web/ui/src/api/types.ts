import type { components } from './schema'

type Schemas = components['schemas']

export type Schedule = Schemas['Schedule']
export type ScheduleDocument = Schemas['ScheduleDocument']
export type SchedulePage = Schemas['SchedulePage']
export type Description = Schemas['Description']
export type Run = Schemas['Run']
export type Span = Schemas['SpanRecord']
export type Backfill = Schemas['Backfill']
export type Version = Schemas['Version']
export type Change = Schemas['Change']
export type Touched = Schemas['Touched']
export type Outlook = Schemas['Outlook']
export type Visit = Schemas['Visit']
export type Stats = Schemas['Stats']
export type Stretch = Schemas['Stretch']
export type Forecast = Schemas['Forecast']
export type Load = Schemas['Load']
export type Herd = Schemas['Herd']
export type Kin = Schemas['Kin']
export type Sharer = Schemas['Sharer']
export type Concern = Schemas['Concern']
export type Coming = Schemas['Coming']
export type ComingTick = Schemas['ComingTick']
export type Preview = Schemas['Preview']
export type Effect = Schemas['Effect']
export type Instance = Schemas['Instance']
export type Queue = Schemas['Queue']
export type ApiKey = Schemas['ApiKey']
export type NewKey = Schemas['NewKey']
export type NamedCalendar = Schemas['NamedCalendar']
export type Workflow = Schemas['Workflow']
export type Glance = Schemas['Glance']

export type Role = 'reader' | 'operator' | 'editor' | 'admin'

export interface ScheduleFilter {
  state?: string
  workflow_id?: string
  user_id?: string
  label?: string
  text?: string
}
