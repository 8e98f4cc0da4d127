// Package script runs the stories of testdata: each *.txtar file takes objects
// through the real pipeline, from YAML to the answer on the wire, and shows on
// one screen what is applied, what is asked and what comes back. The tests of
// this folder run them with the server's answers, those of the CoreDNS plugin
// with its own; testdata/README.md says which known fault of the field stands in
// which story, and script.go lists the commands.
package script
