/** The only file that draws lots. */
import type { Chance } from '../actors/ports.ts'

export const systemChance: Chance = () => Math.random()
