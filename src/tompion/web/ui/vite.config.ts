import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

// Where a service answers while somebody works on the page with npm run dev.
const SERVICE = 'http://127.0.0.1:8640'

/** Let each component of Mantine bring its own styles, so that those of components that nobody uses are left out. */
function usedMantineStyles(): Plugin {
  const names = /@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/
  return {
    name: 'styles-of-what-is-used',
    transform(code, id) {
      const name = names.exec(id)?.[1]
      return name ? { code: `import '@mantine/core/styles/${name}.layer.css'\n${code}`, map: null } : undefined
    },
  }
}

/** Let the first questions be asked before the page itself is read: see src/api/prefetch.ts. */
function prefetchScript(): Plugin {
  return {
    name: 'asked-early',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle }) => {
        const chunk = Object.values(bundle ?? {}).find((output) => output.type === 'chunk' && output.name === 'prefetch')
        return chunk && [{ tag: 'script', attrs: { type: 'module', async: true, crossorigin: true, src: `/${chunk.fileName}` }, injectTo: 'head-prepend' }]
      },
    },
  }
}

export default defineConfig({
  plugins: [react(), usedMantineStyles(), prefetchScript()],
  html: { cspNonce: '__TOMPION_NONCE__' },
  build: {
    rolldownOptions: { input: { index: 'index.html', prefetch: 'src/api/prefetch.ts' } },
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
