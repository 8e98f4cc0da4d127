//go:build race

package e2e_test

// raceFlag builds the program like the tests.
var raceFlag = []string{"-race"}
