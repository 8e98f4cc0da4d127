//go:build race

package daemon

// Race says whether the test runs with the race detector.
const Race = true
