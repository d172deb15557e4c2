export function Timeline() { return null }
