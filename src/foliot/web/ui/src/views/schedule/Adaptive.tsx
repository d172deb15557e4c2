export function Adaptive() { return null }
