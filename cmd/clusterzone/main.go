package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// Exit statuses.
const (
	exitOK      = 0
	exitFailed  = 1 // the command ran and found something wrong
	exitUsage   = 2 // flags, environment, config file or paths can't be honoured
	messageHead = "clusterzone: "
)

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if err.Error() != "" {
		fmt.Fprintln(std.err, messageHead+strings.TrimSuffix(err.Error(), "\n"))
	}
	var failed failure
	if errors.As(err, &failed) {
		return exitFailed
	}
	return exitUsage
}

// A failure is an error of a command whose flags were right: exit status 1.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// errFound ends a command with status 1 after it printed what it found.
var errFound = failure{errors.New("")}
