// Package filewatch tells when files have changed: written in place, replaced
// by editors, or swapped behind links as mounted ConfigMaps are. It watches
// folders through the operating system, and reads every 2 seconds where that
// offers no way.
//
// It knows nothing of what the files hold: their reader says which folders and
// files matter, and reads them anew when told.
package filewatch
