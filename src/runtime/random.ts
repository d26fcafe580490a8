/** The only file that draws lots. */
import { randomBytes } from 'node:crypto'
import type { Chance } from '../actors/ports.ts'

export const systemChance: Chance = () => Math.random()

/** Bytes nobody can guess, for names that must not collide. */
export type RandomBytes = (length: number) => Uint8Array

export const systemBytes: RandomBytes = (length) => randomBytes(length)
