package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/sources"
)

// A grammar says what may be written after a flag of external-dns.
type grammar uint8

const (
	oneText   grammar = iota // anything
	onOff                    // a switch, with --no-NAME as its opposite
	manyTexts                // anything, and the flag repeats
	aNumber                  // a whole number
	aSpan                    // a span of time, as Go writes it
)

// An externalValue is what was given for one flag of external-dns. It
// implements pflag.Value.
type externalValue struct {
	flag  externalFlag
	given []string // oldest first; "true" and "false" for a switch
}

// Set checks text by the flag's grammar and keeps it.
func (v *externalValue) Set(value string) error {
	if err := v.flag.check(value); err != nil {
		return err
	}
	v.given = append(v.given, value)
	return nil
}

func (f *externalFlag) check(value string) error {
	switch f.takes {
	case onOff:
		if value != "true" && value != "false" {
			return errors.New("write true or false")
		}
	case aNumber:
		if _, err := strconv.Atoi(value); err != nil {
			return errors.New("write a whole number")
		}
	case aSpan:
		if _, err := strconv.Atoi(value); err == nil {
			return nil
		}
		if _, err := time.ParseDuration(value); err != nil {
			return errors.New("write a span of time like 90s, 5m or a number of seconds")
		}
	}
	if f.words != nil && value != "" && !slices.Contains(f.words, value) {
		return fmt.Errorf("%s (%s)", sources.Suggest(value, f.words), f.reason())
	}
	return nil
}

// reason is what becomes of the flag, for messages.
func (f *externalFlag) reason() string { return strings.ReplaceAll(f.why, "`", "") }

// String names the flag as it was given. Only values of flags with fixed words
// are shown: others may be secrets.
func (v *externalValue) String() string {
	switch {
	case len(v.given) == 0:
		return ""
	case v.off():
		return "--no-" + v.flag.name
	case v.flag.words == nil && v.flag.name != "provider":
		return "--" + v.flag.name
	}
	return fmt.Sprintf("--%s=%s", v.flag.name, v.given[len(v.given)-1])
}

// Type implements pflag.Value.
func (v *externalValue) Type() string {
	return [...]string{oneText: "string", onOff: "bool", manyTexts: "strings", aNumber: "int", aSpan: "time"}[v.flag.takes]
}

// off reports whether a switch was turned off last.
func (v *externalValue) off() bool {
	return v.flag.takes == onOff && len(v.given) > 0 && v.given[len(v.given)-1] == "false"
}

// refused reports whether the flag was given and can't be honoured. A switch
// that is turned off asks for nothing, and what a run that ends would do, the
// commands other than serve do.
func (v *externalValue) refused(serves bool) bool {
	return v.flag.fate == refused && len(v.given) > 0 && !v.off() && (serves || !slices.Contains(runsOnce(), v.flag.name))
}

// runsOnce are the switches that ask for a run that ends or writes nothing.
func runsOnce() []string { return []string{"once", "dry-run"} }

// An externalOpposite is the flag --no-NAME of a switch.
type externalOpposite externalValue

// Set implements pflag.Value.
func (o *externalOpposite) Set(value string) error {
	no, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("write true or false")
	}
	return (*externalValue)(o).Set(strconv.FormatBool(!no))
}

// String implements pflag.Value.
func (o *externalOpposite) String() string { return (*externalValue)(o).String() }

// Type implements pflag.Value.
func (o *externalOpposite) Type() string { return "bool" }

// An externalList is a flag that repeats. It implements pflag.SliceValue, so
// that the environment and the config file can hold several values.
type externalList externalValue

// Set implements pflag.Value.
func (l *externalList) Set(value string) error { return (*externalValue)(l).Set(value) }

// String implements pflag.Value.
func (l *externalList) String() string { return (*externalValue)(l).String() }

// Type implements pflag.Value.
func (l *externalList) Type() string { return "strings" }

// Append implements pflag.SliceValue.
func (l *externalList) Append(value string) error { return l.Set(value) }

// Replace implements pflag.SliceValue.
func (l *externalList) Replace(values []string) error {
	l.given = nil
	for _, value := range values {
		if err := l.Set(value); err != nil {
			return fmt.Errorf("%q: %w", strings.TrimSpace(value), err)
		}
	}
	return nil
}

// GetSlice implements pflag.SliceValue.
func (l *externalList) GetSlice() []string { return l.given }
