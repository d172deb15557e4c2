const TEXTS = import.meta.glob<string>(
  ['../**/*.{ts,tsx}', '!../**/*.test.*', '!../**/*.d.ts', '!../{messages,testing}/**'],
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
)

/** Return the source files of the web UI by path, without tests, generated files and the message catalogue. */
export const sources = (): Record<string, string> => TEXTS
