import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { retryAfterMs, retryAfterMsMax } from '../../src/machines/retry-after.ts'

const at = Date.UTC(2019, 5, 3, 11, 0, 0)
const halfAnHour = 30 * 60_000
const read = (value: string | undefined, date?: string) => retryAfterMs(value, { at, date })

describe('seconds', () => {
  it.each([
    ['0', 0],
    ['1000', 1_000_000],
    ['007', 7_000],
    ['\t42 ', 42_000],
  ])('%j is a number of seconds', (value, ms) => {
    expect(read(value)).toBe(ms)
  })

  it.each([
    '-1',
    '+3',
    '1.0',
    '1.',
    '.5',
    '120junk',
    '1e3',
    '1e10000',
    '0x10',
    'inf',
    'NaN',
    '²',
    '٣',
  ])('%j is not, and the own backoff applies', (value) => {
    expect(read(value)).toBeUndefined()
  })

  it('more digits than a number can hold mean the longest wait there is, not none', () => {
    expect(read('9'.repeat(30))).toBe(retryAfterMsMax)
    expect(read('9'.repeat(400))).toBe(retryAfterMsMax)
  })

  it('the longest wait still ends on a valid date', () => {
    expect(Number.isNaN(new Date(at + retryAfterMsMax).getTime())).toBe(false)
    expect(Number.isSafeInteger(at + retryAfterMsMax)).toBe(true)
  })
})

describe('dates', () => {
  it.each([
    'Mon, 03 Jun 2019 11:30:00 GMT',
    'Monday, 03-Jun-19 11:30:00 GMT',
    'Mon Jun  3 11:30:00 2019',
  ])('%j is read in its form', (value) => {
    expect(read(value)).toBe(halfAnHour)
  })

  it.each([
    ['one digit for the day, UTC for GMT', 'Mon, 3 Jun 2019 11:30:00 UTC'],
    ['letters of any case', 'MON, 03 jun 2019 11:30:00 gmt'],
    ['the wrong day of the week', 'Fri, 03 Jun 2019 11:30:00 GMT'],
    ['spaces around it', '  Mon, 03 Jun 2019 11:30:00 GMT\t'],
  ])('%s cannot be misread and is let pass', (_what, value) => {
    expect(read(value)).toBe(halfAnHour)
  })

  it.each([
    'Sun, 31 Feb 2021 11:30:00 GMT',
    'Mon, 29 Feb 2021 11:30:00 GMT',
    'Mon, 00 Jun 2019 11:30:00 GMT',
    'Mon, 03 Jux 2019 11:30:00 GMT',
    'Mon, 03 Jun 2019 25:30:00 GMT',
    'Mon, 03 Jun 2019 24:00:00 GMT',
    'Mon, 03 Jun 2019 11:61:00 GMT',
    'Mon, 03 Jun 2019 11:30:61 GMT',
    'Mon, 03 Jun 2019 11:30:00 CET',
    'Mon, 03 Jun 2019 11:30:00',
    'Mon, 03 Jun 19 11:30:00 GMT',
    'Mon, 03-Jun-19 11:30:00 GMT',
    'Funday, 03-Jun-19 11:30:00 GMT',
    '2019-06-03T11:30:00Z',
    '03 Jun 2019 11:30:00 GMT',
    'tomorrow',
    '',
    ' ',
  ])('%j is invalid', (value) => {
    expect(read(value)).toBeUndefined()
  })

  it('a leap second and a leap day are real', () => {
    expect(read('Mon, 03 Jun 2019 11:29:60 GMT')).toBe(halfAnHour)
    expect(read('Sat, 29 Feb 2020 11:00:00 GMT')).toBe(Date.UTC(2020, 1, 29, 11) - at)
  })

  it('the past means now', () => {
    expect(read('Wed, 21 Oct 2015 07:28:00 GMT')).toBe(0)
    expect(read('Mon Jan  1 00:00:00 0001')).toBe(0)
  })

  it('the year 9999 is believed', () => {
    expect(read('Fri, 31 Dec 9999 23:59:59 GMT')).toBe(Date.UTC(9999, 11, 31, 23, 59, 59) - at)
  })

  it('a two-digit year is at most fifty years ahead', () => {
    expect(read('Monday, 03-Jun-69 11:00:00 GMT')).toBe(Date.UTC(2069, 5, 3, 11) - at)
    expect(read('Monday, 03-Jun-69 11:00:01 GMT')).toBe(0)
    const in2099 = Date.UTC(2099, 11, 31)
    const newYear = retryAfterMs('Friday, 01-Jan-00 00:00:00 GMT', { at: in2099 })
    expect(newYear).toBe(Date.UTC(2100, 0, 1) - in2099)
  })
})

describe('the host’s clock', () => {
  it('a Retry-After date is measured against the response’s own Date', () => {
    const hostIsAnHourAhead = 'Mon, 03 Jun 2019 12:00:00 GMT'
    expect(read('Mon, 03 Jun 2019 12:00:30 GMT', hostIsAnHourAhead)).toBe(30_000)
    const hostIsAnHourBehind = 'Monday, 03-Jun-19 10:00:00 GMT'
    expect(read('Mon, 03 Jun 2019 10:00:30 GMT', hostIsAnHourBehind)).toBe(30_000)
  })

  it('an invalid Date is ignored', () => {
    expect(read('Mon, 03 Jun 2019 11:30:00 GMT', 'yesterday')).toBe(halfAnHour)
    expect(read('Mon, 03 Jun 2019 11:30:00 GMT', '')).toBe(halfAnHour)
  })

  it('a Date at the epoch is a date', () => {
    expect(read('Thu, 01 Jan 1970 00:00:07 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT')).toBe(7_000)
  })

  it('seconds need no clock', () => {
    expect(read('30', 'Mon, 03 Jun 2019 12:00:00 GMT')).toBe(30_000)
  })
})

describe('several values in one header', () => {
  it('the longest wait counts', () => {
    expect(read('120, 60')).toBe(120_000)
    expect(read('60,Mon, 03 Jun 2019 11:30:00 GMT')).toBe(halfAnHour)
    expect(read('Monday, 03-Jun-19 11:30:00 GMT, 3600')).toBe(3_600_000)
    expect(read('Mon Jun  3 11:30:00 2019, 5')).toBe(halfAnHour)
  })

  it('one invalid value makes the header invalid', () => {
    expect(read('120, soon')).toBeUndefined()
    expect(read('120,')).toBeUndefined()
    expect(read(',')).toBeUndefined()
  })
})

it('an absent header asks for nothing', () => {
  expect(read(undefined)).toBeUndefined()
})

it('whatever a host sends, the wait is undefined or a number from 0 to the maximum', () => {
  const likelyParts = fc.constantFrom(
    'Mon',
    'Monday',
    ', ',
    ',',
    ' ',
    '03',
    '-',
    'Jun',
    '19',
    '2019',
    'GMT',
    '11:30:00',
    '9'.repeat(25),
  )
  const nearlyRight = fc.array(likelyParts, { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), nearlyRight),
      fc.oneof(fc.string(), nearlyRight),
      (value, date) => {
        const ms = retryAfterMs(value, { date, at })
        expect(ms === undefined || (ms >= 0 && ms <= retryAfterMsMax)).toBe(true)
      },
    ),
    { numRuns: 2_000 },
  )
})

it('every second of every day is read alike in all three forms', () => {
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
  const inFull = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  const withinFortyYears = fc.integer({ min: 0, max: 40 * 365 * 86_400 })
  fc.assert(
    fc.property(withinFortyYears, (seconds) => {
      const until = new Date(at + seconds * 1_000)
      const imf = until.toUTCString()
      const [, day = '', month = '', year = '', time = ''] = imf.split(' ')
      const rfc850 = `${inFull[until.getUTCDay()]}, ${day}-${month}-${year.slice(2)} ${time} GMT`
      const spaced = String(until.getUTCDate()).padStart(2)
      const asctime = `${days[until.getUTCDay()]} ${month} ${spaced} ${time} ${year}`
      for (const form of [imf, rfc850, asctime]) expect(read(form)).toBe(seconds * 1_000)
    }),
  )
})
