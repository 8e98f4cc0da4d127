// Package memory is a cloud that lives in this process: the provider inmemory,
// for trying a mirror out, and for the tests of everything that is the same for
// all clouds. It can be told to fail in every way in which a cloud does, and it
// keeps a list of what was done to it.
package memory
