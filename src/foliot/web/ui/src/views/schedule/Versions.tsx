export function Versions() { return null }
