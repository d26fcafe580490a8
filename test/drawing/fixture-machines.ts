import { and, assign, emit, not, setup } from 'xstate'

/**
 * Machines that only exist to be drawn: as crowded as the real ones, but their guards and
 * actions decide nothing.
 */

const limiterSetup = setup({
  guards: {
    hasToken: () => true,
    hasWaiters: () => true,
    lastWaiter: () => true,
    tokenLater: () => true,
    slowedDown: () => true,
    coolingOver: () => true,
    quiet: () => true,
    known: () => true,
  },
  actions: {
    grant: emit({ type: 'grant' }),
    enqueue: assign({}),
    release: assign({}),
    adapt: assign({}),
    refuse: emit({ type: 'refuse' }),
    schedule: emit({ type: 'schedule' }),
    expire: assign({}),
  },
})

export const limiterLike = limiterSetup.createMachine({
  id: 'limiter',
  version: '1',
  description: 'Lets requests to one domain through at the pace the domain can bear.',
  initial: 'idle',
  states: {
    idle: {
      description: 'Nothing in flight, nobody waiting.',
      tags: ['checkpoint', 'evictable'],
      on: {
        ACQUIRE: {
          target: 'flowing',
          actions: 'grant',
          description: 'The first request finds a full bucket.',
        },
        PAUSED: { target: 'paused', description: 'An operator holds all traffic.' },
        THROTTLED: {
          target: 'cooling',
          guard: 'known',
          actions: ['adapt', 'schedule'],
          description: 'A late answer still counts.',
        },
      },
    },
    flowing: {
      description: 'Tokens are left: every request is granted at once.',
      tags: ['checkpoint'],
      on: {
        ACQUIRE: [
          { guard: 'hasToken', actions: 'grant', description: 'A token is taken.' },
          {
            target: 'pacing',
            actions: ['enqueue', 'schedule'],
            description: 'The bucket is empty: the request waits for the next token.',
          },
        ],
        RELEASED: [
          {
            guard: 'quiet',
            target: 'idle',
            actions: 'release',
            description: 'The last permit came back.',
          },
          { actions: ['release', 'adapt'], description: 'A permit came back.' },
        ],
        THROTTLED: {
          target: 'cooling',
          actions: ['adapt', 'schedule'],
          description: 'The server asked for quiet.',
        },
        PERMIT_EXPIRED: [
          {
            guard: 'quiet',
            target: 'idle',
            actions: 'expire',
            description: 'The last permit was lost.',
          },
          { actions: 'expire', description: 'A lost permit comes back by itself.' },
        ],
        PAUSED: { target: 'paused', description: 'An operator holds all traffic.' },
      },
    },
    pacing: {
      description: 'Requests wait in line, one token at a time.',
      tags: ['checkpoint'],
      entry: 'schedule',
      exit: emit({ type: 'unschedule' }),
      on: {
        ACQUIRE: { actions: 'enqueue', description: 'The line grows.' },
        DUE: [
          {
            guard: 'lastWaiter',
            target: 'flowing',
            actions: 'grant',
            description: 'The line is empty again.',
          },
          {
            guard: 'hasToken',
            actions: ['grant', 'schedule'],
            description: 'The next in line goes.',
          },
          { guard: 'tokenLater', actions: 'schedule', description: 'Woken too early.' },
        ],
        RELEASED: { actions: ['release', 'adapt'], description: 'A permit came back.' },
        ABORTED: [
          {
            guard: and(['lastWaiter', not('slowedDown')]),
            target: 'flowing',
            description: 'The last one in line gave up.',
          },
          { actions: 'release', description: 'Someone in line gave up.' },
        ],
        THROTTLED: {
          target: 'cooling',
          actions: ['adapt', 'schedule'],
          description: 'The server asked for quiet.',
        },
        PAUSED: { target: 'paused', description: 'An operator holds all traffic.' },
      },
    },
    cooling: {
      description: 'Retry-After: nothing leaves before its end.',
      tags: ['checkpoint'],
      on: {
        ACQUIRE: { actions: 'enqueue', description: 'The line grows.' },
        THROTTLED: {
          target: 'cooling',
          reenter: true,
          actions: 'adapt',
          description: 'Asked again: the later end counts.',
        },
        RELEASED: { actions: 'release', description: 'A permit came back.' },
        DUE: [
          {
            guard: and(['coolingOver', 'hasWaiters']),
            target: 'pacing',
            description: 'Over, and someone waits.',
          },
          { guard: 'coolingOver', target: 'idle', description: 'Over, and nobody waits.' },
          { actions: 'schedule', description: 'Woken too early.' },
        ],
        PAUSED: { target: 'paused', description: 'An operator holds all traffic.' },
      },
    },
    paused: {
      description: 'Held by an operator.',
      tags: ['checkpoint'],
      on: {
        ACQUIRE: { actions: 'enqueue', description: 'The line grows.' },
        RESUMED: [
          { guard: 'hasWaiters', target: 'pacing', description: 'The line moves again.' },
          { target: 'idle', description: 'Nobody waited.' },
        ],
        '*': { actions: 'refuse', description: 'Everything else waits.' },
      },
    },
  },
})

export const jobLike = setup({
  guards: {
    attemptsLeft: () => true,
    longWait: () => true,
    committed: () => true,
    hasNextPage: () => true,
  },
  actions: { fetch: emit({ type: 'fetch' }), settle: emit({ type: 'settle' }) },
}).createMachine({
  id: 'job',
  version: '3',
  description: 'One job from claim to settlement.',
  initial: 'working',
  on: {
    INSPECTED: { actions: emit({ type: 'report' }), description: 'Somebody wants to know.' },
  },
  states: {
    working: {
      description: 'The work that belongs to this type of job.',
      initial: 'fetching',
      on: {
        CANCELLED: { target: 'cancelled', description: 'Stopped by its owner.' },
        LEASE_LOST: { target: 'lost', description: 'Another worker has it now.' },
        DRAINED: { target: 'released', description: 'The process is about to stop.' },
        FAILED: [
          {
            guard: 'attemptsLeft',
            target: 'backingOff',
            description: 'Worth another try.',
          },
          { target: 'dead', description: 'No attempt is left.' },
        ],
        REJECTED: { target: 'failed', description: 'It can never work.' },
        RESUMED: { target: '.again', description: 'Back where it was.' },
      },
      onDone: { target: 'settling', description: 'All pages are here.' },
      states: {
        fetching: {
          description: 'A request is under way.',
          tags: ['checkpoint'],
          entry: 'fetch',
          on: {
            RESPONDED: { target: 'parsing', description: 'An answer came.' },
            UNCHANGED: { target: '#job.skipped', description: 'Nothing new since last time.' },
          },
        },
        parsing: {
          description: 'A thread reads the body.',
          on: {
            PARSED: [
              { guard: 'hasNextPage', target: 'fetching', description: 'There is another page.' },
              { target: 'complete', description: 'That was the last page.' },
            ],
          },
        },
        complete: { type: 'final', description: 'Every page was read.' },
        again: { type: 'history', history: 'deep', description: 'Where the work was left.' },
      },
    },
    backingOff: {
      description: 'Waits before the next attempt.',
      tags: ['checkpoint'],
      on: {
        DUE: { target: 'working', description: 'The wait is over.' },
        CANCELLED: { target: 'cancelled', description: 'Stopped by its owner.' },
        LEASE_LOST: { target: 'lost', description: 'Another worker has it now.' },
        DRAINED: { target: 'released', description: 'The process is about to stop.' },
      },
      always: {
        guard: 'longWait',
        target: 'released',
        description: 'A long wait is better spent in the queue.',
      },
    },
    settling: {
      description: 'The result is being committed under its fence.',
      tags: ['checkpoint'],
      entry: 'settle',
      on: {
        SETTLED: { guard: 'committed', target: 'done', description: 'The store agreed.' },
        LEASE_LOST: { target: 'lost', description: 'The store refused the fence.' },
        RESUMED: { actions: 'settle', description: 'Asked once more after a restart.' },
      },
    },
    done: { type: 'final', description: 'The result is stored.' },
    skipped: { type: 'final', description: 'There was nothing to do.' },
    failed: { type: 'final', description: 'It can never work.' },
    dead: { type: 'final', description: 'It was tried often enough.' },
    cancelled: { type: 'final', description: 'Its owner stopped it.' },
    released: { type: 'final', description: 'Back in the queue.' },
    lost: { type: 'final', description: 'Another worker owns it.' },
  },
})

export const parallelLike = setup({}).createMachine({
  id: 'player',
  type: 'parallel',
  description: 'Two things at once.',
  on: { RESET: { target: ['.sound.on', '.screen.off'], description: 'Both go back.' } },
  states: {
    sound: {
      description: 'What is heard.',
      initial: 'on',
      states: {
        on: {
          description: 'Loud.',
          on: { MUTE: { target: 'off', description: 'Quiet, please.' } },
        },
        off: { description: 'Silent.', on: { UNMUTE: { target: 'on', description: 'Louder.' } } },
      },
    },
    screen: {
      description: 'What is seen.',
      initial: 'off',
      states: {
        off: { description: 'Dark.', on: { WAKE: { target: 'on', description: 'Lit.' } } },
        on: { description: 'Bright.', on: { SLEEP: { target: 'off', description: 'Dimmed.' } } },
      },
    },
  },
})

/** Names that mean something to Mermaid, Markdown or XML. */
export const awkwardlyNamed = setup({}).createMachine({
  id: 'awkward',
  initial: 'end',
  states: {
    end: {
      description: 'A <keyword> with a | pipe & a "quote".\nAnd a second line.',
      on: {
        'vendor.note:added': [
          { guard: () => true, target: 'default', description: 'Inline guard.' },
          { actions: () => {}, description: 'Inline action.' },
        ],
        'a;b#c': { target: 'state' },
      },
    },
    default: { on: { '*': 'state' } },
    state: { type: 'final' },
  },
})
