export function Ticks() { return null }
