package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// seconds is a flag that holds a span of time: "90s", "1m30s", or a bare
// number of seconds.
type seconds time.Duration

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("write a span between 0 and %d seconds", math.MaxInt32)
		}
		*s = seconds(time.Duration(n) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt32*time.Second {
		return errors.New("write a span of time like 90s, 5m or a number of seconds")
	}
	*s = seconds(d)
	return nil
}

// String implements pflag.Value.
func (s *seconds) String() string {
	if d := time.Duration(*s); d != 0 {
		return d.String()
	}
	return "0"
}

// Type implements pflag.Value.
func (s *seconds) Type() string { return "time" }

// opposite is the flag --no-NAME of a switch NAME.
type opposite bool

// Set implements pflag.Value.
func (o *opposite) Set(text string) error {
	no, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("write true or false")
	}
	*o = opposite(!no)
	return nil
}

// String implements pflag.Value.
func (o *opposite) String() string { return strconv.FormatBool(!bool(*o)) }

// Type implements pflag.Value.
func (o *opposite) Type() string { return "bool" }

// IsBoolFlag says that the flag may stand without a value.
func (o *opposite) IsBoolFlag() bool { return true }

// number is a yes or no as metrics have it.
func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
