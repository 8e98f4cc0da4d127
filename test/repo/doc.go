// Package repo holds no code but tests: they hold the rules of this repository
// that a compiler can't, such as which package may depend on which, where
// comments stand, and that README's commands do what it says.
//
// Each rule says why it is there. A change that needs to break one changes the
// rule, and its reason, in the same commit.
package repo
