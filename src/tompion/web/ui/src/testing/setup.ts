/** Browser globals that modules read when they are imported. The unit tests run without a DOM. */
const stored = new Map<string, string>()

Object.assign(globalThis, {
  window: globalThis,
  location: new URL('http://localhost/'),
  localStorage: {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  },
})
