// Package manifest reads objects from files: YAML and JSON, several documents a
// file, List objects, folders, standard input.
//
// Load reads all paths once and refuses what can't be read, naming file and
// line. A Set then hands its objects to a sources.Sink, and keeps them up to
// date while files come, change and go. A file that breaks later keeps its last
// good state until it is mended.
package manifest
