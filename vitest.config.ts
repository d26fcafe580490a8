import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // XState prints its warnings (lost children, sends to stopped actors) only under this condition.
    execArgv: ['--conditions=development'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
