import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

// Where a service answers while somebody works on the page with npm run dev.
const SERVICE = 'http://127.0.0.1:8640'

/** Let each component of Mantine bring its own styles, so that those of components that nobody uses are left out. */
function stylesOfWhatIsUsed(): Plugin {
  const names = /@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/
  return {
    name: 'styles-of-what-is-used',
    transform(code, id) {
      const name = names.exec(id)?.[1]
      return name ? { code: `import '@mantine/core/styles/${name}.layer.css'\n${code}`, map: null } : undefined
    },
  }
}

export default defineConfig({
  plugins: [react(), stylesOfWhatIsUsed()],
  html: { cspNonce: '__FOLIOT_NONCE__' },
  build: {
    outDir: '../static',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // they know light-dark()
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': { target: SERVICE, headers: { origin: SERVICE } } } },
})
