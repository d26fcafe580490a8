import { Client } from 'pg'
import type { TestContext } from 'vitest'
import { usePostgres, useRedis } from '../provision/use-server.ts'
import { type Place, Scene } from './scene.ts'

/** The test itself, because several are on at a time. */
export type Stagehand = Pick<TestContext, 'onTestFinished'>

export interface Theatre {
  readonly name: string
  /** A scene with a store of its own, gone when the test is over. */
  scene(test: Stagehand): Promise<Scene>
}

export const onSqlite: Theatre = {
  name: 'SQLite',
  scene: async (test) => opened({}, test),
}

/** For the top of a suite: servers shared by its scenes, each with a database of its own. */
export function onServers(): Theatre {
  const postgres = usePostgres()
  const redis = useRedis()
  return {
    name: 'PostgreSQL and Redis',
    scene: async (test) => opened(await serverPlace(postgres, redis), test),
  }
}

let databases = 0

export async function serverPlace(
  postgres: { readonly url: string },
  redis: { readonly url: string },
): Promise<Place> {
  const name = `scene_${databases++}`
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  return { databaseUrl: url.href, redisUrl: redis.url }
}

export function opened(place: Place, { onTestFinished }: Stagehand): Scene {
  const scene = new Scene(place)
  onTestFinished(async ({ task }) => {
    // A run that went wrong may never do so again: its history is worth keeping.
    if (task.result?.state === 'fail')
      process.stderr.write(`The history of '${task.name}' is in ${scene.keepHistory()}\n`)
    await scene.close()
  })
  return scene
}
