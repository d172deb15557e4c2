export function Schedule() { return null }
