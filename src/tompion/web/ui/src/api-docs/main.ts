import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'

interface TrustedTypes {
  createPolicy(name: string, rules: { createHTML: (text: string) => string | null }): unknown
}

// The only HTML is Markdown of the OpenAPI document, which has these tags and no attributes.
const OTHER_TAG = /<(?!\/?(?:p|code|em|i|strong|pre|ul|ol|li|br)>)/
const { trustedTypes } = window as { trustedTypes?: TrustedTypes }
trustedTypes?.createPolicy('default', { createHTML: (text) => (OTHER_TAG.test(text) ? null : text) })

// Requests go to this service with the session cookie of the web UI, or with the key that the reader enters.
SwaggerUI({
  dom_id: '#api-docs',
  url: '/api/v1/openapi.json',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
})
