/**
 * Reads a Retry-After header (RFC 9110 §10.2.3): how long the host wants to be left alone.
 *
 * The grammar is read strictly and by hand, because `Date.parse` takes "-3" for a year and
 * `parseInt` takes "120junk" for two minutes. Allowed beyond the grammar, since it cannot be
 * misread: any letter case, a day without its leading zero, UTC for GMT, and several values in
 * one (a proxy joined two headers), of which the longest counts.
 *
 * A wait is a lower bound: it is never shortened. Only what lies past `retryAfterMsMax` becomes
 * that maximum, which is a quarter of a million years.
 */

/** Added to any time of this era it is still a valid date, for JavaScript and for databases. */
export const retryAfterMsMax = 8_000_000_000_000_000

export interface Received {
  /** The Date header of the same response. Measuring against it cancels the host's clock error. */
  readonly date?: string | undefined
  /** Our own time since the epoch, for responses without a valid Date. */
  readonly at: number
}

/** Milliseconds to wait, 0 for "now" and for the past; undefined when absent or invalid. */
export function retryAfterMs(value: string | undefined, received: Received): number | undefined {
  if (value === undefined) return undefined
  const now = instantOf(received.date?.trim() ?? '', received.at) ?? received.at
  const waits = value.split(betweenValues).map((each) => waitMs(each.trim(), now))
  return waits.reduce(longer)
}

// A comma after the name of a day belongs to a date; any other one separates values.
const betweenValues = /(?<!day)(?<!\b(?:mon|tue|wed|thu|fri|sat|sun)),/i

function longer(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other)
}

function waitMs(value: string, now: number): number | undefined {
  if (/^[0-9]+$/.test(value)) return Math.min(Number(value) * 1_000, retryAfterMsMax)
  const until = instantOf(value, now)
  return until === undefined ? undefined : Math.max(0, until - now)
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const time = '(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})'
const month = '(?<month>[a-z]{3})'
const weekday = '(?:mon|tue|wed|thu|fri|sat|sun)'
const weekdayInFull = '(?:mon|tues|wednes|thurs|fri|satur|sun)day'

const dateForms = [
  // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
  `${weekday}, (?<day>[0-9]{1,2}) ${month} (?<year>[0-9]{4}) ${time} (?:gmt|utc)`,
  // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  `${weekdayInFull}, (?<day>[0-9]{1,2})-${month}-(?<year>[0-9]{2}) ${time} (?:gmt|utc)`,
  // asctime: Sun Nov  6 08:49:37 1994
  `${weekday} ${month} (?<day> ?[0-9]|[0-9]{2}) ${time} (?<year>[0-9]{4})`,
].map((form) => new RegExp(`^${form}$`, 'i'))

interface DateParts {
  readonly year: string
  readonly month: number
  readonly day: number
  readonly ofDayMs: number
}

/** The time a date in any of the three forms means, read at `now`. */
function instantOf(text: string, now: number): number | undefined {
  const parts = datePartsOf(text)
  if (parts === undefined) return undefined
  return parts.year.length === 4 ? onYear(Number(parts.year), parts) : nearest(parts, now)
}

function datePartsOf(text: string): DateParts | undefined {
  const groups = dateForms.map((form) => form.exec(text)?.groups).find(Boolean)
  if (groups === undefined) return undefined
  const { year = '', month = '', day = '', hour = '', minute = '', second = '' } = groups
  // 60 is a leap second.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  const ofDayMs = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1_000
  return { year, month: months.indexOf(month.toLowerCase()), day: Number(day), ofDayMs }
}

/** Undefined for days the calendar does not have. */
function onYear(year: number, { month, day, ofDayMs }: DateParts): number | undefined {
  const midnight = new Date(0).setUTCFullYear(year, month, day)
  const exists = month >= 0 && new Date(midnight).getUTCDate() === day
  return exists ? midnight + ofDayMs : undefined
}

/** Two digits mean the latest such year that is not more than fifty years ahead (RFC 9110 §5.6.7). */
function nearest(parts: DateParts, now: number): number | undefined {
  const thisYear = new Date(now).getUTCFullYear()
  const horizon = new Date(now).setUTCFullYear(thisYear + 50)
  const century = thisYear - (thisYear % 100)
  return [century + 100, century, century - 100]
    .map((start) => onYear(start + Number(parts.year), parts))
    .find((instant) => instant !== undefined && instant <= horizon)
}
