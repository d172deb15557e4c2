import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/testing/setup.ts'],
    env: { TZ: 'Europe/Berlin' },
    restoreMocks: true,
  },
})
