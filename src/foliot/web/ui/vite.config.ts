import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Where a service answers while somebody works on the page with npm run dev.
const SERVICE = 'http://127.0.0.1:8640'

export default defineConfig({
  plugins: [react()],
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
