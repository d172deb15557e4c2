import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

// The server that `npm run dev` forwards API requests to.
const SERVICE = 'http://127.0.0.1:8640'

/** Import the styles of each Mantine component that is used, instead of the styles of all components. */
function usedMantineStyles(): Plugin {
  const names = /@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/
  return {
    name: 'used-mantine-styles',
    transform(code, id) {
      const name = names.exec(id)?.[1]
      return name ? { code: `import '@mantine/core/styles/${name}.layer.css'\n${code}`, map: null } : undefined
    },
  }
}

/** Load the prefetch script before the application: see src/api/prefetch.ts. */
function prefetchScript(): Plugin {
  return {
    name: 'prefetch-script',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle, filename }) => {
        if (!filename.endsWith('index.html')) return undefined
        const chunk = Object.values(bundle ?? {}).find(
          (output) => output.type === 'chunk' && output.name === 'prefetch',
        )
        return (
          chunk && [
            {
              tag: 'script',
              attrs: { type: 'module', async: true, crossorigin: true, src: `/${chunk.fileName}` },
              injectTo: 'head-prepend',
            },
          ]
        )
      },
    },
  }
}

export default defineConfig({
  plugins: [react(), usedMantineStyles(), prefetchScript()],
  html: { cspNonce: '__TOMPION_NONCE__' },
  build: {
    rolldownOptions: { input: { index: 'index.html', apiDocs: 'api-docs.html', prefetch: 'src/api/prefetch.ts' } },
    outDir: '../static',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // the first versions with light-dark()
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': { target: SERVICE, headers: { origin: SERVICE } } } },
})
