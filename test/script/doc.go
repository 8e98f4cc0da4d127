// Package script holds the stories of testdata: each *.txtar file takes objects
// through the real pipeline, from YAML to the answer on the wire, and shows on
// one screen what is applied, what is asked and what comes back. The tests of
// this folder run them; testdata/README.md says which known fault of the field
// stands in which story, and script_test.go lists the commands.
package script
