import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { TypedEvents } from '../../src/actors/typed-events.ts'
import { VirtualClock } from '../../src/actors/virtual-clock.ts'
import { EventFeed } from '../../src/http/event-feed.ts'
import { EventStream, streamLimits } from '../../src/http/event-stream.ts'
import type { AnyJob } from '../../src/jobs/define-job.ts'
import type { RuntimeEventMap } from '../../src/runtime/runtime-events.ts'
import { Caller, nextEvent, type StreamedEvent, testService } from './test-service.ts'

describe('the events of a job', () => {
  it('begin with the job as it is, tell what happens to it, and end with it', async () => {
    const gate = Promise.withResolvers<void>()
    const gated: AnyJob = {
      type: 'gated',
      version: '1.0',
      async run({ log, progress }) {
        await gate.promise
        progress(1, 2)
        log('halfway', { door: 'open' })
        return 'through'
      },
    }
    const caller = new Caller(await testService({ jobs: [gated] }).serving)
    const everything = await caller.events('/v1/events')
    const id = await caller.submit({ type: 'gated' })
    await caller.submit({ type: 'gated', key: 'somebody else' })
    await nextEvent(everything, 'job.started')
    const events = await caller.events(`/v1/jobs/${id}/events`)
    const { data: job } = await nextEvent(events, 'job')
    expect(job).toMatchObject({ id, state: 'running', statechart: 'working.running' })
    gate.resolve()
    const told = await all(events)
    expect(told.map(({ name }) => name)).toEqual(['job.progressed', 'job.logged', 'job.settled'])
    expect(told.map(({ data }) => data.id)).toEqual([id, id, id])
    expect(told[1]?.data).toMatchObject({ message: 'halfway', fields: { door: 'open' } })
    expect(told[2]?.data).toMatchObject({ as: 'done', attempt: 1 })
  })

  it('that has ended already are the job alone', async () => {
    const caller = new Caller(await testService({ jobs: [quick] }).serving)
    const id = await caller.submit({ type: 'quick' })
    await caller.ended(id)
    const told = await all(await caller.events(`/v1/jobs/${id}/events`))
    expect(told.map(({ name, data }) => [name, data.state])).toEqual([['job', 'done']])
  })
})

describe('the events of a service', () => {
  it('tell of every job, to everybody who listens', async () => {
    const caller = new Caller(await testService({ jobs: [quick] }).serving)
    const listeners = await Promise.all([caller.events('/v1/events'), caller.events('/v1/events')])
    const id = await caller.submit({ type: 'quick' })
    for (const events of listeners) {
      await nextEvent(events, 'jobs.submitted')
      expect((await nextEvent(events, 'job.settled')).data).toMatchObject({ id, as: 'done' })
    }
  })

  it('are not for those who only ask for the headers', async () => {
    const url = await testService().serving
    expect((await fetch(`${url}/v1/events`, { method: 'HEAD' })).status).toBe(404)
  })
})

describe('a feed', () => {
  it('says every 15 seconds that it is still there', () => {
    const { feed, clock } = feeding()
    const listener = response()
    feed.follow(listener)
    clock.advance(streamLimits.pingMs - 1)
    expect(sentTo(listener)).not.toContain(': ping')
    clock.advance(1 + streamLimits.pingMs)
    expect(sentTo(listener).match(/: ping\n\n/g)).toHaveLength(2)
  })

  it('listens to the runtime only while somebody listens to it', () => {
    const { feed, events } = feeding()
    let built = 0
    const happen = () =>
      events.emit('schedules.fired', () => {
        built++
        return { at: 0, fired: 1 }
      })
    happen()
    const listener = response()
    feed.follow(listener)
    happen()
    listener.emit('close')
    happen()
    expect(built).toBe(1)
  })

  it('writes an error as its message', () => {
    const { feed, events } = feeding()
    const listener = response()
    feed.follow(listener)
    const error = new Error('The disk is full.')
    events.emit('duty.failed', () => ({ at: 1, duty: 'relay', failures: 1, error }))
    expect(sentTo(listener)).toContain('"error":"The disk is full."')
  })

  it('takes so many listeners and no more, until one leaves', () => {
    const { feed } = feeding()
    const listeners = Array.from({ length: streamLimits.streamsMax }, response)
    for (const listener of listeners) {
      feed.assertRoom()
      feed.follow(listener)
    }
    expect(() => feed.assertRoom()).toThrow('1000 clients follow events already')
    listeners[0]?.emit('close')
    expect(() => feed.assertRoom()).not.toThrow()
  })

  it('that has ended ends every stream and begins no other', () => {
    const { feed } = feeding()
    const listeners = [response(), response()]
    feed.follow(listeners[0]!)
    feed.follow(listeners[1]!, 'a job')
    feed.end()
    expect(listeners.map(({ writableEnded }) => writableEnded)).toEqual([true, true])
    expect(() => feed.assertRoom()).toThrow('The process stops')
  })
})

describe('a listener that does not keep up', () => {
  it('with a thousand events unread is let go', () => {
    const listener = response()
    const stream = new EventStream(listener, () => {})
    for (let event = 0; event < streamLimits.waitingEventsMax; event++) stream.write(': x\n\n')
    expect(listener.destroyed).toBe(false)
    stream.write(': x\n\n')
    expect(listener.destroyed).toBe(true)
  })

  it('with 256 KB unread is let go', () => {
    const listener = response()
    const stream = new EventStream(listener, () => {})
    stream.write(`: ${'x'.repeat(streamLimits.waitingBytesMax)}\n\n`)
    expect(listener.destroyed).toBe(false)
    stream.write(': x\n\n')
    expect(listener.destroyed).toBe(true)
    expect(() => stream.write(': x\n\n')).not.toThrow()
  })
})

const quick: AnyJob = { type: 'quick', version: '1.0', run: () => 'at once' }

function feeding() {
  const clock = new VirtualClock()
  const events = new TypedEvents<RuntimeEventMap>((error) => {
    throw error
  })
  return { clock, events, feed: new EventFeed(events, clock) }
}

/** An answer whose connection takes nothing: all that is sent stays here. */
function response(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()))
}

function sentTo(response: ServerResponse): string {
  const { outputData } = response as unknown as { outputData: { data: string | Buffer }[] }
  return outputData.map(({ data }) => String(data)).join('')
}

async function all(events: AsyncGenerator<StreamedEvent>): Promise<StreamedEvent[]> {
  const told: StreamedEvent[] = []
  for await (const event of events) told.push(event)
  return told
}
