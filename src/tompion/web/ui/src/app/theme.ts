import { Badge, createTheme, type MantineColorsTuple } from '@mantine/core'
import { t } from '../messages'

/** The green of old bronze, the accent colour. */
const verdigris: MantineColorsTuple = [
  '#eaf6f3',
  '#d3e9e4',
  '#a6d3c9',
  '#77bcad',
  '#50a895',
  '#379b86',
  '#27937d',
  '#187f6b',
  '#0b6c5b',
  '#00584a',
]
const ink: MantineColorsTuple = [
  '#d5dbdd',
  '#b3bec1',
  '#8f9da1',
  '#6d7d82',
  '#4a585d',
  '#374449',
  '#28343a',
  '#1c262b',
  '#141c20',
  '#0d1417',
]

/** A text colour with enough contrast on a tinted surface of the same colour, in both colour schemes. */
const readable = (color: string) =>
  `light-dark(color-mix(in srgb, var(--mantine-color-${color}-9), black 40%), color-mix(in srgb, var(--mantine-color-${color}-2), white 25%))`

/** A tinted surface that stands out from the background, in both colour schemes. */
const tinted = (color: string) =>
  `light-dark(color-mix(in srgb, var(--mantine-color-${color}-6) 15%, transparent), color-mix(in srgb, var(--mantine-color-${color}-5) 34%, transparent))`

export const theme = createTheme({
  primaryColor: 'verdigris',
  primaryShade: { light: 8, dark: 7 },
  autoContrast: true,
  colors: { verdigris, dark: ink },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.25rem' }, h2: { fontSize: '1rem' }, h3: { fontSize: '0.875rem' } },
  },
  components: {
    Button: { defaultProps: { size: 'xs' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray', size: 'md' } },
    InputWrapper: { defaultProps: { inputWrapperOrder: ['label', 'input', 'description', 'error'] } },
    TextInput: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    Tooltip: { defaultProps: { openDelay: 250, withArrow: true, multiline: true, maw: 360 } },
    Modal: {
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.35 },
        closeButtonProps: { 'aria-label': t('common.close') },
      },
    },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': t('common.close') } } },
    Badge: Badge.extend({
      defaultProps: { variant: 'light', radius: 'sm', size: 'sm', tt: 'none', fw: 500 },
      vars: (_theme, { color = 'gray' }) => ({
        root: { '--badge-color': readable(color), '--badge-bg': tinted(color) },
      }),
    }),
  },
})
